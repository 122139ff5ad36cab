// The cost of a cold start, as far as it can be measured without AWS: the size of each function's
// bundle, and the time to load it, as a multiple of Node's own start. The stack makes the bundles,
// as for a deployment.
//
//   npm run bench -- cold           all functions
//   npm run bench -- cold devices   and the largest parts of these

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { Metafile } from 'esbuild';
import { access } from '#infra/access.ts';
import { metafileContext, readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';
import { printTable } from './print/print-table.ts';

/** Nova waits for these functions. */
const novaPath = ['accelerator-requests', 'device-profiles'];
const targetKilobytes = 450;
const targetRatio = 2.5;

const startsEach = 15;

const contributorsMax = 15;

interface Bundle {
  readonly name: string;
  readonly file: string;
  readonly kilobytes: number;
  readonly metafile: Metafile;
}

/**
 * Prints sizes and times of all functions, and the largest parts of the given ones, or of those
 * for which Nova waits. False if a bundle is too large: sizes are the same on every machine, times
 * are not.
 */
export function benchCold(asked: readonly string[]): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-bundles-'));
  try {
    const bundles = makeBundles(join(directory, 'cdk.out'));
    const ratios = measureStarts(bundles, directory);
    const rows = bundles.map(({ name, kilobytes }) => {
      const ratio = ratios.get(name) ?? Number.NaN;
      const isOver = kilobytes > targetKilobytes || ratio > targetRatio;
      const verdict = !novaPath.includes(name) ? '' : isOver ? 'MISSED' : 'held';
      return [name, `${kilobytes}`, `${ratio.toFixed(1)}x`, verdict];
    });
    printTable(
      `Bundles; for Nova at most ${targetKilobytes} KB and ${targetRatio}x the start of bare Node`,
      ['function', 'KB', 'import', 'target'],
      rows,
    );
    for (const bundle of bundles) {
      if ((asked.length === 0 ? novaPath : asked).includes(bundle.name)) printContributors(bundle);
    }
    return bundles.every(
      ({ name, kilobytes }) => !novaPath.includes(name) || kilobytes <= targetKilobytes,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function makeBundles(outdir: string): Bundle[] {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  const app = new App({ outdir, context: { ...context, [metafileContext]: true } });
  const stack = new CyborgStack(app, 'bundles', { settings: readSettings(app.node) });
  const { template } = app.synth().getStackByName(stack.stackName);
  const functions = Object.values(template.Resources as Record<string, FunctionResource>).filter(
    // Our own functions; the CDK adds one that runs during a deployment only.
    ({ Type, Properties: { FunctionName } }) =>
      Type === 'AWS::Lambda::Function' && FunctionName.slice(`${context.stage}-`.length) in access,
  );
  return functions.map(({ Properties }) => {
    const asset = join(outdir, `asset.${Properties.Code.S3Key.replace('.zip', '')}`);
    const file = join(asset, 'index.mjs');
    return {
      name: Properties.FunctionName.slice(`${context.stage}-`.length),
      file,
      kilobytes: Math.round(statSync(file).size / 1024),
      metafile: JSON.parse(readFileSync(join(asset, 'index.meta.json'), 'utf8')) as Metafile,
    };
  });
}

interface FunctionResource {
  readonly Type: string;
  readonly Properties: { readonly FunctionName: string; readonly Code: { readonly S3Key: string } };
}

/**
 * Times each bundle and a start without one, in turns, and returns the shortest times as multiples
 * of the shortest start: other load on the machine only adds.
 */
function measureStarts(bundles: readonly Bundle[], directory: string): Map<string, number> {
  const nothing = join(directory, 'nothing.mjs');
  writeFileSync(nothing, '');
  const files = [nothing, ...bundles.map(({ file }) => file)];
  const times = new Map<string, number[]>(files.map((file) => [file, []]));
  for (let round = 0; round < startsEach; round++) {
    for (const file of files) times.get(file)?.push(startMs(file));
  }
  const least = (file: string) => Math.min(...(times.get(file) ?? []));
  const bare = least(nothing);
  console.log(`bare Node starts in ${bare.toFixed(0)} ms; the shortest of ${startsEach}`);
  return new Map(bundles.map(({ name, file }) => [name, least(file) / bare - 1]));
}

function startMs(file: string): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The bundle does not load: ${stderr}`);
  return performance.now() - startedAt;
}

/** Prints packages and our own folders, by their share of the bundle. */
function printContributors({ name, metafile }: Bundle): void {
  const bytes = new Map<string, number>();
  for (const output of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const owner = ownerOf(path);
      bytes.set(owner, (bytes.get(owner) ?? 0) + bytesInOutput);
    }
  }
  const heaviest = [...bytes].sort(([, a], [, b]) => b - a).slice(0, contributorsMax);
  printTable(
    `${name}: largest parts`,
    ['', 'KB'],
    heaviest.map(([owner, size]) => [owner, (size / 1024).toFixed(1)]),
  );
}

function ownerOf(path: string): string {
  const inPackage = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  return inPackage?.[1] ?? path.split('/').slice(0, 2).join('/');
}
