// Bundles cyborg-ops into one file, cyborg-ops.mjs in dist/cyborg-ops or the folder that `--out`
// names, and writes the package.json of a package without dependencies and install scripts beside
// it; `npm run ops:pack` packs it.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { stackCosts } from '#infra/cost/stack-costs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { out: { type: 'string', default: `${root}dist/cyborg-ops` } },
});
const folder = resolve(values.out);
const outfile = `${folder}/cyborg-ops.mjs`;
const { version, license } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

/** The CDK is 50 MB: the bundle has what the command `cost` counts with it. */
const countedStack: Plugin = {
  name: 'counted-stack',
  setup({ onLoad }) {
    onLoad({ filter: /infra\/cost\/stack-costs\.ts$/ }, () => ({
      contents: `export const stackCosts = () => (${JSON.stringify(stackCosts())});`,
      loader: 'ts',
    }));
  },
};

mkdirSync(folder, { recursive: true });
await build({
  entryPoints: [`${root}operate/cyborg-ops.ts`],
  outfile,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  // Packages that are still CommonJS require Node's own modules.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  legalComments: 'external',
  plugins: [countedStack],
});
chmodSync(outfile, 0o755);
copyFileSync(`${root}LICENSE`, `${folder}/LICENSE`);
copyFileSync(`${root}docs/cyborg-ops.md`, `${folder}/README.md`);
const manifest = {
  name: 'cyborg-ops',
  version,
  description: 'What operators of cyborg-serverless run',
  license,
  type: 'module',
  bin: { 'cyborg-ops': 'cyborg-ops.mjs' },
  files: ['cyborg-ops.mjs', 'cyborg-ops.mjs.LEGAL.txt'],
  engines: { node: '>=24' },
};
writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);

const { stdout, stderr, status } = spawnSync(process.execPath, [outfile, '--version'], {
  encoding: 'utf8',
});
if (status !== 0 || stdout.trim() !== version) {
  console.error(`The bundle does not start: ${stdout}${stderr}`);
  process.exitCode = 1;
} else {
  const kilobytes = Math.round(statSync(outfile).size / 1024);
  console.log(`${outfile} ${version}, ${kilobytes} KB`);
}
