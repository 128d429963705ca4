import { mountTraining } from '../../views/src/training/index';
import { door } from './shared/door';

export default door(mountTraining);
