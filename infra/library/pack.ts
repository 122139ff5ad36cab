// Makes the package of the stack in dist/cyborg-serverless, or the folder that `--out` names: the
// stack as one module, its types, and the bundle of each function. `npm run stack:pack` packs it.

import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { App } from 'aws-cdk-lib';
import { build, type Plugin } from 'esbuild';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';
import { writeDeclarations } from './declarations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { out: { type: 'string', default: `${root}dist/cyborg-serverless` } },
});
const folder = resolve(values.out);
const { version, license, devDependencies } = JSON.parse(
  readFileSync(`${root}package.json`, 'utf8'),
);

const packedCode: Plugin = {
  name: 'packed-code',
  setup({ onResolve }) {
    onResolve({ filter: /\/function-code\.ts$/ }, () => ({
      path: `${root}infra/library/packed-code.ts`,
    }));
  },
};

interface Resource {
  readonly Type: string;
  readonly Properties: { readonly FunctionName?: string; readonly Code?: { S3Key: string } };
}

/** The same bundles that `cdk deploy` uploads from a checkout. */
function copyFunctions(): void {
  const outdir = mkdtempSync(join(tmpdir(), 'functions-'));
  try {
    const app = new App({ outdir });
    const stage = 'packed';
    const keystoneUrl = 'https://keystone.example.org/v3';
    const settings = { stage, keystoneUrl, passwordSecret: 'cyborg/keystone-password' };
    const stack = new CyborgStack(app, 'packed', { settings });
    const { template } = app.synth().getStackByName(stack.stackName);
    const resources = Object.values(template.Resources as Record<string, Resource>);
    for (const name of Object.keys(stack.functions)) {
      const made = resources.find((each) => each.Properties.FunctionName === `${stage}-${name}`);
      const asset = `asset.${made?.Properties.Code?.S3Key.replace('.zip', '')}`;
      cpSync(join(outdir, asset), join(folder, 'functions', name), { recursive: true });
    }
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

rmSync(folder, { recursive: true, force: true });
copyFunctions();
await build({
  entryPoints: [`${root}infra/library/index.ts`],
  outfile: `${folder}/index.js`,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // An app has one CDK, and gives it to all of its constructs.
  external: ['aws-cdk-lib', 'constructs'],
  plugins: [packedCode],
});
writeDeclarations(`${folder}/types`, 'infra/library', 'infra/library/index.ts');
copyFileSync(`${root}LICENSE`, `${folder}/LICENSE`);
copyFileSync(`${root}docs/library.md`, `${folder}/README.md`);
const types = './types/infra/library/index.d.ts';
const manifest = {
  name: 'cyborg-serverless',
  version,
  description: "OpenStack Cyborg's v2 accelerator service on AWS, as a stack for apps of the CDK",
  license,
  type: 'module',
  // `default`, not `import`: apps that are CommonJS modules require it.
  exports: { '.': { types, default: './index.js' } },
  types,
  files: ['index.js', 'types', 'functions'],
  engines: { node: '>=24' },
  peerDependencies: {
    'aws-cdk-lib': `^${devDependencies['aws-cdk-lib']}`,
    constructs: `^${devDependencies.constructs}`,
  },
};
writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
console.log(`${folder}: cyborg-serverless ${version}`);
