// `npm run agent:package`: the agent with its Node and its helper, as a package of Debian and as
// an archive, signed if a key is given. The same commit gives the same files, to the byte: times
// are those of the commit, or SOURCE_DATE_EPOCH. Needs dpkg-deb, tar, zstd, and the C compiler of
// the processor.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { agentVersion } from '#agent/version.ts';
import { type Architecture, architectures } from './architectures.ts';
import { archive } from './archive.ts';
import { readSigningKey, signatureOf } from './minisign.ts';
import { PackagingFailed, runTool } from './run-tool.ts';
import { layOut } from './tree.ts';

const usage =
  'npm run agent:package -- [--arch x64|arm64]... [--revision 1] [--out dist] [--sign-key FILE]';

const { values: given } = parseArgs({
  options: {
    arch: { type: 'string', multiple: true, default: [process.arch] },
    /** The packaging's revision: a higher one upgrades the same version of the agent. */
    revision: { type: 'string', default: '1' },
    out: { type: 'string', default: 'dist' },
    /** A secret key of minisign without a password. */
    'sign-key': { type: 'string' },
  },
});

async function main(): Promise<void> {
  const { revision } = given;
  const archs = [...new Set(given.arch)].map((arch) => {
    if (isArchitecture(arch)) return arch;
    const allowed = Object.keys(architectures).join(', ');
    throw new PackagingFailed(`--arch ${arch} is not known; allowed are ${allowed}.\n${usage}`);
  });
  if (!/^[1-9]\d{0,3}$/.test(revision)) {
    throw new PackagingFailed(`--revision ${revision} is no number from 1 to 9999.\n${usage}`);
  }
  const keyFile = given['sign-key'];
  const key = keyFile === undefined ? undefined : readSigningKey(keyFile);
  const at = Number(process.env.SOURCE_DATE_EPOCH ?? runTool('git', ['log', '-1', '--format=%ct']));
  const out = resolve(given.out);
  mkdirSync(out, { recursive: true });
  const files: string[] = [];
  for (const arch of archs)
    files.push(...(await pack(out, arch, `${agentVersion}-${revision}`, at)));
  // Files that an earlier run has left are not named: this run has not made them.
  const sums = join(out, 'SHA256SUMS');
  writeFileSync(sums, files.map((file) => `${sumOf(file)}  ${basename(file)}\n`).join(''));
  for (const file of [...files, sums]) {
    if (key) writeFileSync(`${file}.minisig`, signatureOf(file, key, at));
    // A signature of an earlier run would not be that of this file.
    else rmSync(`${file}.minisig`, { force: true });
  }
  process.stdout.write(readFileSync(sums));
}

async function pack(
  out: string,
  architecture: Architecture,
  version: string,
  at: number,
): Promise<readonly string[]> {
  const tree = mkdtempSync(join(tmpdir(), 'agent-package-'));
  try {
    await layOut(tree, { version, architecture, at });
    // Unpacked at the root of a system, it installs what the package does.
    const archived = join(out, `cyborg-agent-${agentVersion}-linux-${architecture}.tar.gz`);
    archive(tree, archived, at, ['DEBIAN']);
    return [archived, debianPackage(tree, out, version, architecture, at)];
  } finally {
    rmSync(tree, { recursive: true });
  }
}

function isArchitecture(text: string): text is Architecture {
  return Object.hasOwn(architectures, text);
}

function debianPackage(
  tree: string,
  out: string,
  version: string,
  arch: Architecture,
  at: number,
): string {
  const file = join(out, `cyborg-agent_${version}_${architectures[arch].debian}.deb`);
  runTool('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', tree, file], {
    SOURCE_DATE_EPOCH: String(at),
  });
  return file;
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

await main().catch((error: unknown) => {
  if (!(error instanceof PackagingFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
});
