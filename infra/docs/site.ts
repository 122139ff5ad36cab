// The folder site/ is a package of its own, whose packages only the site needs.

import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '#infra/agent-package/run-tool.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const site = join(root, 'site');

/** Installs the packages of site/ unless they are there. @throws PackagingFailed */
export function installSite(): void {
  const installed = join(site, 'node_modules/.package-lock.json');
  const timeOf = (file: string) => (existsSync(file) ? statSync(file).mtimeMs : 0);
  if (timeOf(installed) >= timeOf(join(site, 'package-lock.json'))) return;
  npm('ci', '--ignore-scripts', '--no-audit', '--no-fund');
}

/** @param base the path at which the site is served, `/` or `/path/` @throws PackagingFailed */
export function buildSite(into: string, base: string): void {
  npm('run', '--silent', 'types');
  npm('run', '--silent', 'build', '--', '--outDir', into, '--base', base);
  const start = `${base}docs/README.html`;
  writeFileSync(
    join(into, 'index.html'),
    `<!doctype html><meta http-equiv="refresh" content="0; url=${start}"><a href="${start}">Documents</a>\n`,
  );
}

function npm(...args: string[]): void {
  runTool('npm', ['--prefix', site, ...args]);
}
