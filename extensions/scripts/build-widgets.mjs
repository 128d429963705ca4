// Bundle the anywidget door of every view: views/src/<name>/index.ts becomes workbench/widgets/static/<name>.js.
// A door is the same for all of them, so it is not a file: its source is made here.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(here, 'views', 'src');
const target = join(here, '..', 'workbench', 'widgets', 'static');

const views = readdirSync(source).filter(name => existsSync(join(source, name, 'index.ts')));

const doors = {
  name: 'doors',
  setup(build) {
    build.onResolve({ filter: /^door:/ }, ({ path }) => ({
      path: path.slice('door:'.length),
      namespace: 'door'
    }));
    build.onLoad({ filter: /.*/, namespace: 'door' }, ({ path: name }) => {
      const mount = `mount${name[0].toUpperCase()}${name.slice(1)}`;
      const contents = [
        `import { ${mount} } from './views/src/${name}/index';`,
        "import { door } from './widgets/src/shared/door';",
        `export default door(${mount});`
      ];
      return { contents: contents.join('\n'), loader: 'ts', resolveDir: here };
    });
  }
};

const options = {
  entryPoints: [
    ...views.map(name => ({ in: `door:${name}`, out: name })),
    // What a page runs that stands without a kernel.
    ...views
      .map(name => ({ in: join(source, name, 'published.ts'), out: `${name}-page` }))
      .filter(page => existsSync(page.in))
  ],
  plugins: [doors],
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
  console.log(`watching ${views.length} doors`);
} else {
  // A door that was renamed or removed must not stay behind as a stale bundle.
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  await esbuild.build(options);
  console.log(`bundled ${views.length} doors: ${views.join(', ') || 'none'}`);
}
