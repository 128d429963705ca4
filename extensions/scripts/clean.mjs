// Remove everything that a build writes.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const written = ['lib', '../workbench/lab/labextension', '../workbench/widgets/static'];
for (const folder of written) {
  rmSync(join(here, folder), { recursive: true, force: true });
}
