import { mountScatter } from '../../views/src/scatter/index';
import { door } from './shared/door';

export default door(mountScatter);
