// `npm run release`: checks that the commit may become a release, and writes its artefacts and
// their sums into a folder. With `--tag` it then makes the tag, in this checkout alone: a push
// publishes it. Needs git, what `npm run agent:package` needs, and npm.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PackagingFailed, runTool } from '#infra/agent-package/run-tool.ts';
import { writeWhole } from '#infra/agent-package/whole-folder.ts';
import { artefacts } from './artefacts.ts';
import { faultsOf, readTree, tagOf } from './check-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const usage =
  'npm run release -- [--check] [--tag] [--arch x64|arm64]... [--out dist/release-VERSION]';

function main(): void {
  const options = readOptions();
  const tree = readTree(root);
  const { version, commit } = tree;
  const faults = faultsOf(tree);
  if (faults.length > 0) throw new PackagingFailed(faults.join('\n'));
  console.log(`${commit} can become ${tagOf(tree)}.`);
  if (options.check) return;

  // Packed files have these modes, whatever the user's own mask is.
  process.umask(0o022);
  const folder = resolve(options.out ?? join(root, `dist/release-${version}`));
  const at = Number(runTool('git', ['-C', root, 'log', '-1', '--format=%ct', commit]));
  const release = { root, version, at, architectures: options.arch };
  writeWhole(folder, (made) => {
    for (const artefact of artefacts) {
      console.log(`Building: ${artefact.name}`);
      artefact.write(made, release);
    }
    const sums = readdirSync(made)
      .sort()
      .map((name) => `${sumOf(join(made, name))}  ${name}\n`);
    writeFileSync(join(made, 'SHA256SUMS'), sums.join(''));
    const after = readTree(root);
    const [change = after.commit] = after.changes;
    if (change !== commit) {
      throw new PackagingFailed(
        `The tree changed during the build (${change}): build again, into a folder that git ignores.`,
      );
    }
  });
  process.stdout.write(readFileSync(join(folder, 'SHA256SUMS')));
  console.log(`Artefacts of ${version}: ${folder}`);
  if (options.tag) {
    runTool('git', ['-C', root, 'tag', '-a', tagOf(tree), '-m', `Version ${version}`, commit]);
    console.log(`Tag ${tagOf(tree)} made here; publish it: git push origin ${tagOf(tree)}`);
  }
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        /** Builds nothing. */
        check: { type: 'boolean', default: false },
        /** Makes the tag once the artefacts are whole. */
        tag: { type: 'boolean', default: false },
        arch: { type: 'string', multiple: true, default: [process.arch] },
        out: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new PackagingFailed(`${error instanceof Error ? error.message : error}\n${usage}`);
  }
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

try {
  main();
} catch (error) {
  if (!(error instanceof PackagingFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
