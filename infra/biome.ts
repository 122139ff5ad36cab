// Runs Biome from its platform package. The wrapper package lists binaries for platforms that a
// registry mirror may lack, which would make `npm ci` fail everywhere.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const platformPackage = `@biomejs/cli-${process.platform}-${process.arch}`;
try {
  const packageJson = createRequire(import.meta.url).resolve(`${platformPackage}/package.json`);
  const biome = join(dirname(packageJson), 'biome');
  process.exitCode = spawnSync(biome, process.argv.slice(2), { stdio: 'inherit' }).status ?? 1;
} catch {
  console.error(`Biome has no binary here: install ${platformPackage} to format and lint.`);
  process.exitCode = 1;
}
