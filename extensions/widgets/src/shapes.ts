import { mountShapes } from '../../views/src/shapes/index';
import { door } from './shared/door';

export default door(mountShapes);
