// Bundle every anywidget door: widgets/src/<name>.ts becomes workbench/widgets/static/<name>.js.
// Helpers that are no door of their own live one folder deeper (widgets/src/shared/).
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(here, 'widgets', 'src');
const target = join(here, '..', 'workbench', 'widgets', 'static');

const doors = readdirSync(source).filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'));
const options = {
  entryPoints: doors.map(name => ({ in: join(source, name), out: basename(name, '.ts') })),
  outdir: target,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  loader: { '.css': 'text', '.svg': 'text' },
  minify: !process.argv.includes('--watch'),
  sourcemap: process.argv.includes('--watch') ? 'inline' : false,
  legalComments: 'linked',
  logLevel: 'warning'
};

if (process.argv.includes('--watch')) {
  mkdirSync(target, { recursive: true });
  const context = await esbuild.context(options);
  await context.watch();
  console.log(`watching ${doors.length} doors`);
} else {
  // A door that was renamed or removed must not stay behind as a stale bundle.
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  await esbuild.build(options);
  console.log(
    `bundled ${doors.length} doors: ${doors.map(name => basename(name, '.ts')).join(', ') || 'none'}`
  );
}
