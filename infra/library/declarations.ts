// The types of a package: the compiler's declarations of its module and of the modules that these
// name, with imports that resolve without our own aliases.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Aliases of package.json that the modules of packages import by. */
const folders: Readonly<Record<string, string>> = {
  '#agent': 'edge-agent',
  '#core': 'core',
  '#functions': 'functions',
  '#infra': 'infra',
};

/**
 * @param project the folder of a tsconfig.json that names the module
 * @param first the module's path, below the root; that of its declarations is the same
 */
export function writeDeclarations(folder: string, project: string, first: string): void {
  const emitted = mkdtempSync(join(tmpdir(), 'declarations-'));
  try {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const options = ['-p', project, '--outDir', emitted];
    execFileSync(process.execPath, [compiler, ...options], { cwd: root, stdio: 'inherit' });
    const reached = new Set([first]);
    // Modules are added while the loop runs.
    for (const module of reached) {
      const text = readFileSync(join(emitted, declarationOf(module)), 'utf8').replaceAll(
        /(from |import\()'([#.][^']+)'/g,
        (_whole, before: string, path: string) => {
          const named = moduleOf(path, module);
          reached.add(named);
          const there = relative(dirname(module), named).replace(/\.ts$/, '.js');
          return `${before}'${there.startsWith('.') ? there : `./${there}`}'`;
        },
      );
      const file = join(folder, declarationOf(module));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  } finally {
    rmSync(emitted, { recursive: true });
  }
}

function declarationOf(module: string): string {
  return module.replace(/\.ts$/, '.d.ts');
}

/** The module that an import names, as a path below the root. */
function moduleOf(path: string, from: string): string {
  if (path.startsWith('.')) return join(dirname(from), path);
  const alias = path.slice(0, path.indexOf('/'));
  const folder = folders[alias];
  if (!folder) throw new Error(`${from} imports ${path}, which the package does not have.`);
  return join(folder, path.slice(alias.length + 1));
}
