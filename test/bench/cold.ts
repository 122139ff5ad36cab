// What a cold start costs, as far as it can be told without AWS: the size of each function's bundle,
// and how long Node takes to load it, as a multiple of its own start. The bundles are those of the
// deployment: the stack itself makes them.
//
//   npm run bench -- cold           all functions
//   npm run bench -- cold devices   and what weighs in these

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { Metafile } from 'esbuild';
import { access } from '#infra/access.ts';
import { CyborgStack } from '#infra/cyborg-stack.ts';
import { metafileContext, readSettings } from '#infra/settings.ts';
import { printTable } from './print-table.ts';

/** Nova waits for these; the others work behind the scenes, or for people. */
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
 * Prints sizes and times of all functions, and what weighs in those asked for, or in Nova's. False
 * where a bundle is too large: sizes are the same everywhere, times are as noisy as the machine.
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
      `Bundles; on Nova's path at most ${targetKilobytes} KB and ${targetRatio}x bare Node's start`,
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
  const stack = new CyborgStack(app, 'bundles', readSettings(app.node));
  const { template } = app.synth().getStackByName(stack.stackName);
  const functions = Object.values(template.Resources as Record<string, FunctionResource>).filter(
    // Those of ours; the CDK brings one that works during a deployment only.
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

/** Time to load each bundle as a multiple of a start that loads nothing: the least of each, taken in turns: whatever else the machine does only adds. */
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
  console.log(`bare Node starts in ${bare.toFixed(0)} ms; the least of ${startsEach}`);
  return new Map(bundles.map(({ name, file }) => [name, least(file) / bare - 1]));
}

function startMs(file: string): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The bundle does not load: ${stderr}`);
  return performance.now() - startedAt;
}

/** Packages, and our own folders, by what they take up in the bundle. */
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
    `${name}: what weighs`,
    ['', 'KB'],
    heaviest.map(([owner, size]) => [owner, (size / 1024).toFixed(1)]),
  );
}

function ownerOf(path: string): string {
  const inPackage = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  return inPackage?.[1] ?? path.split('/').slice(0, 2).join('/');
}
