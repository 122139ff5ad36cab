// The files of the agent's package, as they lie on a host.

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleAgent, licencesOf } from '#infra/bundle/agent-bundle.ts';
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
const library = 'usr/lib/cyborg-agent';
const executables: ReadonlySet<string> = new Set([
  'usr/bin/cyborg-agent',
  `${library}/node`,
  `${library}/helper`,
  `${library}/libvirt-hook`,
  'DEBIAN/postinst',
  'DEBIAN/prerm',
  'DEBIAN/postrm',
]);

interface PackageFacts {
  /** The agent's version, then its packaging's: `0.2.0-1`. */
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
  const write = (name: string, text: string) => writeFileSync(place(name), text);
  const bundle = place(`${library}/cyborg-agent.mjs`);
  const contents = await bundleAgent(bundle);
  renameSync(licencesOf(bundle), place(`${documents}/LEGAL.txt`));
  const node = nodeOf(architecture);
  node.copyTo(place(`${library}/node`), place(`${documents}/node-LICENSE`));
  buildHelper(place(`${library}/helper`), architecture);
  copyFileSync(`${root}edge-agent/libvirt-hook.sh`, place(`${library}/libvirt-hook`));
  write('usr/bin/cyborg-agent', launcher);
  const unit = readFileSync(`${root}edge-agent/cyborg-agent.service`, 'utf8');
  write('usr/lib/systemd/system/cyborg-agent.service', packagedUnit(unit));
  write('etc/default/cyborg-agent', defaults);
  copyFileSync(`${root}LICENSE`, place(`${documents}/copyright`));
  const bill = billOfMaterials(contents, { version, nodeVersion: node.version, at });
  write(`${documents}/sbom.cdx.json`, `${JSON.stringify(bill, null, 2)}\n`);
  const installedKilobytes = Math.ceil(bytesIn(tree) / 1024);
  const { debian } = architectures[architecture];
  write('DEBIAN/control', control({ version, architecture: debian, installedKilobytes }));
  write('DEBIAN/conffiles', configurationFiles);
  write('DEBIAN/postinst', afterInstallation);
  write('DEBIAN/prerm', beforeRemoval);
  write('DEBIAN/postrm', afterRemoval);
  makeEqual(tree, at);
}

function buildHelper(outfile: string, architecture: Architecture): void {
  const isNative = architecture === process.arch;
  const compiler = isNative ? 'cc' : architectures[architecture].compiler;
  try {
    runTool(process.execPath, [`${root}infra/bundle/build-helper.ts`, outfile], { CC: compiler });
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

/** Modes follow from the umask, and times from the clock. */
function makeEqual(tree: string, at: number): void {
  for (const name of [...entriesIn(tree), tree]) {
    const isExecutable = statSync(name).isDirectory() || executables.has(relative(tree, name));
    chmodSync(name, isExecutable ? 0o755 : 0o644);
    utimesSync(name, at, at);
  }
}
