// The rules of the house that no tool holds: which way imports go, what a file may hold.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

function filesOf(...patterns: string[]): string[] {
  const listing = ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns];
  return execFileSync('git', listing, { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
}

const files = filesOf('*.ts', '*.tsx');

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** What a file imports of our own, as paths below the root. */
function importsOf(file: string): string[] {
  const aliases: Readonly<Record<string, string>> = {
    '#core/': 'core/',
    '#functions/': 'functions/',
    '#agent/': 'edge-agent/',
    '#console/': 'console/',
    '#infra/': 'infra/',
    '#local/': 'local/',
    '#operate/': 'operate/',
    '#simulation/': 'simulation/',
    '#test/': 'test/',
  };
  const named = [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'([#.][^']+)'/g)];
  return named.flatMap(([, path = '']) => {
    if (path.startsWith('.')) return [normalize(join(dirname(file), path))];
    const alias = Object.keys(aliases).find((each) => path.startsWith(each));
    return alias ? [path.replace(alias, aliases[alias] ?? '')] : [];
  });
}

/** A folder → what files below it may import. The longest matching folder counts. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'core/shapes': ['core/shapes'],
  'core/domain': ['core/domain', 'core/shapes'],
  'core/contracts': ['core/contracts', 'core/domain', 'core/shapes'],
  'core/store': ['core/store', 'core/contracts', 'core/domain', 'core/shapes'],
  'core/clients': [
    'core/clients',
    'core/contracts',
    'core/domain',
    'core/shapes',
    'core/settings.ts',
    'core/log.ts',
  ],
  'core/operations': [
    'core/operations',
    'core/store',
    'core/clients',
    'core/contracts',
    'core/domain',
    'core/shapes',
    'core/deps.ts',
    'core/consumer-deps.ts',
  ],
  core: ['core'],
  functions: ['functions', 'core'],
  'edge-agent': ['edge-agent', 'core/contracts', 'core/shapes'],
  infra: [
    'infra',
    'functions/routes.ts',
    'functions/gateway.ts',
    'functions/versions/get-openapi.ts',
    'core',
    'edge-agent/version.ts',
    'package.json',
  ],
  operate: [
    'operate',
    'core',
    'edge-agent/config/config.ts',
    'edge-agent/drivers/contract/define-driver.ts',
    'edge-agent/config/operator-modules.ts',
    'edge-agent/version.ts',
    // Two commands of cyborg-ops; neither imports anything of operate/.
    'infra/cost/main.ts',
    'simulation/scale/main.ts',
  ],
  local: ['local', 'operate', 'functions', 'core'],
  // The browser gets the API's schemas and the pure rules, and nothing that needs Node.
  console: ['console', 'core/contracts', 'core/domain', 'core/shapes'],
  site: ['site'],
  simulation: [
    'simulation',
    'local/aws',
    'local/openstack',
    'edge-agent',
    'functions',
    'core',
    'infra/stack/stream-filters.ts',
    'infra/settings/throttling.ts',
    'infra/cost',
  ],
  test: [
    'test',
    'simulation',
    'local',
    'operate',
    'infra',
    'functions',
    'core',
    'edge-agent',
    'console',
    'package.json',
  ],
};

function isWithin(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`);
}

it('imports go one way', () => {
  const folders = Object.keys(mayImport).sort((a, b) => b.length - a.length);
  const wrong = files
    .filter((file) => file.includes('/'))
    .flatMap((file) => {
      const folder = folders.find((each) => isWithin(file, each)) ?? '';
      const allowed = mayImport[folder] ?? [];
      return importsOf(file)
        .filter((path) => !allowed.some((place) => isWithin(path, place)))
        .map((path) => `${file} imports ${path}`);
    });
  expect(wrong).toEqual([]);
});

it('two files of the commands print, and one of the agent: nothing else reaches a terminal', () => {
  const places = ['core/command-line', 'operate', 'infra/preflight', 'edge-agent'];
  const printing = /console\.(?:log|error|warn|info|table)\b|std(?:out|err)\.write\(/;
  const found = files.filter(
    (file) => places.some((place) => isWithin(file, place)) && printing.test(textOf(file)),
  );
  expect(found.sort()).toEqual([
    'core/command-line/print.ts',
    'edge-agent/main.ts',
    'operate/ops/output/terminal.ts',
  ]);
});

describe('every folder', () => {
  /** Every folder → its files. Tests do not count: there are as many as the product has parts. */
  const folderOf = Map.groupBy(
    files.filter((file) => !file.endsWith('.test.ts')),
    (file) => dirname(file),
  );

  it('imports no folder beside it that imports it', () => {
    const arrows = new Set([...folderOf.values()].flat().flatMap(siblingArrows));
    const back = (arrow: string) => arrow.split(' ').reverse().join(' ');
    expect([...arrows].filter((arrow) => arrows.has(back(arrow)))).toEqual([]);
  });

  /** `from to`: the folders, beside each other, that hold the file and what it imports. */
  function siblingArrows(file: string): readonly string[] {
    return importsOf(file).flatMap((path) => {
      const from = dirname(file).split('/');
      const to = dirname(path).split('/');
      const fork = from.findIndex((part, index) => part !== to[index]);
      if (fork === -1 || to[fork] === undefined) return [];
      const upTo = (parts: readonly string[]) => parts.slice(0, fork + 1).join('/');
      return [`${upTo(from)} ${upTo(to)}`];
    });
  }
});

describe('every file', () => {
  it('tests wait by `eventually`, which ends when nothing changes, and have no limit of time', () => {
    const limit = /\btimeout: ?\d|^ *\}, \d[\d_]*\);/m;
    // Their waits end after some time, also on a machine that had none for the test.
    const others = /expect\s*\.poll\(|vi\s*\.wait(?:For|Until)\(/;
    const tests = files.filter((file) => file.startsWith('test/'));
    expect(tests.filter((file) => others.test(textOf(file)))).toEqual([]);
    const limited = tests.filter((file) => file.endsWith('.test.ts') && limit.test(textOf(file)));
    expect(limited).toEqual([]);
  });

  it('spreads no literal, whose entries stand where it does', () => {
    // Spelled so that this file has none of them. A type of a tuple may spread one.
    const spread = /\.{3}\{ ?(?!readonly)['"[\w]/;
    expect(files.filter((file) => spread.test(textOf(file)))).toEqual([]);
  });

  it('leaves nothing behind for later', () => {
    // Spelled so that this file has none of them.
    const marks = /\b(TO[D]O|FIX[M]E|X{3}|HA[C]K)\b/;
    const left = files.filter((file) => marks.test(textOf(file)));
    expect(left).toEqual([]);
  });

  it('of the product is imported by something', () => {
    const entries = [
      // Bundles take the last two of these in place of packages.
      /^infra\/(app|biome)\.ts$/,
      /^infra\/bundle\/(build-helper|bundle-agent|bundle-console|bundle-ops|lambda-credentials|no-endpoint-discovery|unneeded-clients)\.ts$/,
      /^infra\/(agent-package|docs|driver-types|preflight|release)\/main\.ts$/,
      // What a package exports, and what replaces a module in it.
      /^infra\/library\/(index|pack|packed-code)\.ts$/,
      /^examples\/platform-app\/app\.ts$/,
      /^infra\/privileges\/print\.ts$/,
      // Only AWS CodeDeploy calls it: the system on one machine has no releases.
      /^functions\/consumers\/release-check\.ts$/,
      /^infra\/print-[a-z-]+\.ts$/,
      /^local\/(main|demo\/main|demo\/record|process\/part)\.ts$/,
      /^simulation\/(main|[a-z]+-worker)\.ts$/,
      /^operate\/cyborg-ops\.ts$/,
      /^edge-agent\/main\.ts$/,
      /^console\/main\.tsx$/,
      // VitePress reads the first two, and a test runs the third.
      /^site\/(\.vitepress\/config|\.vitepress\/theme\/index|questions)\.ts$/,
      /^test\//,
      /^vitest\.config\.ts$/,
    ];
    // A module that only its own test imports is dead.
    const product = files.filter((file) => !file.startsWith('test/'));
    const imported = new Set(product.flatMap(importsOf));
    const dead = files.filter(
      (file) => !imported.has(file) && !entries.some((entry) => entry.test(file)),
    );
    expect(dead).toEqual([]);
  });
});

it('runs on the Node that it was written for', () => {
  expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24);
});
