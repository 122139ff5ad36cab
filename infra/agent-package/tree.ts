// The files of the agent's package, as they lie on a host.

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleAgent, licencesOf } from '../agent-bundle.ts';
import { type Architecture, architectures, nodeOf } from './architectures.ts';
import { billOfMaterials } from './bill-of-materials.ts';
import {
  afterInstallation,
  afterRemoval,
  beforeRemoval,
  configurationFiles,
  control,
  defaults,
  launcher,
  packagedUnit,
} from './debian.ts';
import { PackagingFailed, runTool } from './run-tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = 'usr/share/doc/cyborg-agent';

export interface PackageFacts {
  /** Of the agent, then of its packaging: `0.2.0-1`. */
  readonly version: string;
  readonly architecture: Architecture;
  /** Seconds since 1970: the time of every file. */
  readonly at: number;
}

/** @throws PackagingFailed */
export async function layOut(
  tree: string,
  { version, architecture, at }: PackageFacts,
): Promise<void> {
  const place = (name: string) => {
    const file = join(tree, name);
    mkdirSync(dirname(file), { recursive: true });
    return file;
  };
  const write = (name: string, text: string, mode = 0o644) => {
    writeFileSync(place(name), text);
    chmodSync(place(name), mode);
  };
  const bundle = place('usr/lib/cyborg-agent/cyborg-agent.mjs');
  const contents = await bundleAgent(bundle);
  writeFileSync(place(`${documents}/LEGAL.txt`), readFileSync(licencesOf(bundle)));
  runTool('rm', [licencesOf(bundle)]);
  const node = nodeOf(architecture);
  node.copyTo(place('usr/lib/cyborg-agent/node'), place(`${documents}/node-LICENSE`));
  buildHelper(place('usr/lib/cyborg-agent/helper'), architecture);
  write('usr/bin/cyborg-agent', launcher, 0o755);
  const unit = readFileSync(`${root}edge-agent/cyborg-agent.service`, 'utf8');
  write('usr/lib/systemd/system/cyborg-agent.service', packagedUnit(unit));
  write('etc/default/cyborg-agent', defaults);
  copyFileSync(`${root}LICENSE`, place(`${documents}/copyright`));
  const bill = billOfMaterials(contents, { version, nodeVersion: node.version, at });
  write(`${documents}/sbom.cdx.json`, `${JSON.stringify(bill, null, 2)}\n`);
  for (const [name, mode] of [
    ['usr/lib/cyborg-agent/node', 0o755],
    ['usr/lib/cyborg-agent/helper', 0o755],
    ['usr/lib/cyborg-agent/cyborg-agent.mjs', 0o644],
    [`${documents}/LEGAL.txt`, 0o644],
    [`${documents}/node-LICENSE`, 0o644],
    [`${documents}/copyright`, 0o644],
  ] as const) {
    chmodSync(place(name), mode);
  }
  const installedKilobytes = Math.ceil(bytesIn(tree) / 1024);
  const { debian } = architectures[architecture];
  write('DEBIAN/control', control({ version, architecture: debian, installedKilobytes }));
  write('DEBIAN/conffiles', configurationFiles);
  write('DEBIAN/postinst', afterInstallation, 0o755);
  write('DEBIAN/prerm', beforeRemoval, 0o755);
  write('DEBIAN/postrm', afterRemoval, 0o755);
  makeEqual(tree, at);
}

function buildHelper(outfile: string, architecture: Architecture): void {
  const own = architecture === process.arch;
  const compiler = own ? 'cc' : architectures[architecture].compiler;
  try {
    runTool(process.execPath, [`${root}infra/build-helper.ts`, outfile], { CC: compiler });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PackagingFailed(
      `The helper for ${architecture} needs ${compiler} with a static C library: ${reason}`,
    );
  }
}

function entriesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const name = join(folder, entry.name);
    return entry.isDirectory() ? [...entriesIn(name), name] : [name];
  });
}

function bytesIn(tree: string): number {
  return entriesIn(tree).reduce((sum, name) => sum + statSync(name).size, 0);
}

/** Modes of folders follow from the umask, and times from the clock. */
function makeEqual(tree: string, at: number): void {
  for (const name of [...entriesIn(tree), tree]) {
    if (statSync(name).isDirectory()) chmodSync(name, 0o755);
    utimesSync(name, at, at);
  }
}
