import { mountHistogram } from '../../views/src/histogram/index';
import { door } from './shared/door';

export default door(mountHistogram);
