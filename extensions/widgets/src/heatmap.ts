import { mountHeatmap } from '../../views/src/heatmap/index';
import { door } from './shared/door';

export default door(mountHeatmap);
