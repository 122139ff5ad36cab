// What a release consists of. Each artefact is written into a folder, with the time of the commit:
// the same commit gives the same files, to the byte.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { archive } from '#infra/agent-package/archive.ts';
import { runTool } from '#infra/agent-package/run-tool.ts';
import { readBillOfMaterials } from './bill-of-materials.ts';

export interface Release {
  /** The project's folder. */
  readonly root: string;
  readonly version: string;
  /** Seconds since 1970: the time of the commit. */
  readonly at: number;
  /** The processors for which the agent is packed. */
  readonly architectures: readonly string[];
}

export interface Artefact {
  readonly name: string;
  /** @throws PackagingFailed */
  write(folder: string, release: Release): void;
}

/** What has a bill of materials, and the folder of its lockfile. */
const billed = [
  ['cyborg-serverless', '.'],
  ['cyborg-docs', 'site'],
] as const;

export const artefacts: readonly Artefact[] = [
  {
    name: 'agent',
    write: (folder, { root, at, architectures }) => {
      const archs = architectures.flatMap((each) => ['--arch', each]);
      const script = join(root, 'infra/agent-package/main.ts');
      runNode(at, [script, ...archs, '--out', folder]);
      // The sums of the release name these files, too.
      rmSync(join(folder, 'SHA256SUMS'));
    },
  },
  { name: 'cyborg-ops', write: packageWriter('infra/bundle/bundle-ops.ts') },
  { name: 'library', write: packageWriter('infra/library/pack.ts') },
  { name: 'console', write: archiveWriter('console', 'infra/bundle/bundle-console.ts') },
  { name: 'docs', write: archiveWriter('docs', 'infra/docs/main.ts') },
  {
    name: 'bills of materials',
    write: (folder, { root, version, at }) => {
      for (const [name, lockedIn] of billed) {
        const bill = readBillOfMaterials(join(root, lockedIn), name, at);
        const file = join(folder, `${name}-${version}.cdx.json`);
        writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
      }
    },
  },
];

/** Writes a package that npm packs from the folder that a script has written. */
function packageWriter(script: string): Artefact['write'] {
  return (folder, { root, at }) =>
    inTemporary((made) => {
      const files = join(made, 'package');
      runNode(at, [join(root, script), '--out', files]);
      runTool('npm', ['pack', files, '--silent', '--pack-destination', folder]);
    });
}

/** Writes an archive of the folder that a script has written. */
function archiveWriter(name: string, script: string): Artefact['write'] {
  return (folder, { root, version, at }) =>
    inTemporary((made) => {
      const files = join(made, name);
      runNode(at, [join(root, script), '--out', files]);
      archive(files, join(folder, `cyborg-${name}-${version}.tar.gz`), at);
    });
}

function runNode(at: number, args: readonly string[]): void {
  runTool(process.execPath, args, { SOURCE_DATE_EPOCH: String(at) });
}

function inTemporary(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
