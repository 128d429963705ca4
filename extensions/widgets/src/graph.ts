import { mountGraph } from '../../views/src/graph/index';
import { door } from './shared/door';

export default door(mountGraph);
