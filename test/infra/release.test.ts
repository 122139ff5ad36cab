// `npm run release`: which commits it refuses, and that its folder is there whole or not at all.
// What it builds is the work of the packagers, which have tests of their own.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeWhole } from '#infra/agent-package/whole-folder.ts';
import { readBillOfMaterials } from '#infra/release/bill-of-materials.ts';
import { faultsOf, readTree } from '#infra/release/check-tree.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = directoryPerTest();

describe('a commit', () => {
  const project = () => join(directory, 'project');
  const write = (name: string, text: string) => writeFileSync(join(project(), name), text);
  const faults = () => faultsOf(readTree(project()));

  function git(...args: string[]): void {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
    execFileSync('git', ['-C', project(), ...identity, ...args], { stdio: 'ignore' });
  }

  function commit(): void {
    git('add', '--all');
    git('commit', '--allow-empty', '-m', 'a change');
  }

  beforeEach(() => {
    mkdirSync(join(project(), 'edge-agent'), { recursive: true });
    git('init', '--initial-branch', 'main');
    write('package.json', '{ "version": "1.2.3" }');
    write('package-lock.json', '{ "version": "1.2.3" }');
    write('edge-agent/version.ts', "export const agentVersion = '1.2.3';\n");
    write('CHANGELOG.md', '# Changelog\n\n## [1.2.3] - 2026-02-28\n\n## [1.2.2] - 2026-01-31\n');
    commit();
  });

  it('can become a release', () => expect(faults()).toEqual([]));

  const refused: readonly (readonly [string, () => void, string])[] = [
    ['a changed file', () => write('package.json', '{"version":"1.2.3"}'), 'Not committed: 1'],
    ['a new file', () => write('new.ts', ''), 'the first is ?? new.ts'],
    ['another branch', () => git('checkout', '-b', 'fix'), 'branch main, not from fix'],
    ['no branch', () => git('checkout', '--detach'), 'branch main, not from HEAD'],
    ['its tag', () => git('tag', 'v1.2.3'), 'Tag v1.2.3 exists already.'],
    ...(
      [
        ['package-lock.json', '{ "version": "1.2.2" }', 'package-lock.json has version 1.2.2'],
        ['edge-agent/version.ts', "agentVersion = '1.2.2'", 'version.ts has version 1.2.2'],
        ['CHANGELOG.md', '## [1.2.2] - 2026-01-31', 'begins with "[1.2.2] - 2026-01-31"'],
        ['CHANGELOG.md', 'nothing', 'CHANGELOG.md begins with ""'],
        ['CHANGELOG.md', '## [1.2.3] - unreleased', 'in place of "unreleased"'],
        ['CHANGELOG.md', '## [1.2.3] - 2026-02-31', 'in place of "2026-02-31"'],
      ] as const
    ).map(([file, text, fault]) => {
      const change = () => {
        write(file, text);
        commit();
      };
      return [`${file}: ${text}`, change, fault] as const;
    }),
  ];

  it.each(refused)('is refused with %s', (_, change, fault) => {
    change();
    expect(faults()).toEqual([expect.stringContaining(fault)]);
  });

  it('is refused with all of its faults at once', () => {
    git('checkout', '-b', 'fix');
    git('tag', 'v1.2.3');
    write('CHANGELOG.md', '## [1.2.3] - unreleased');
    expect(faults()).toHaveLength(4);
  });
});

describe('the folder of a release', () => {
  const folder = () => join(directory, 'release');
  const content = () => readdirSync(directory).sort();
  const write = (text: string) => (into: string) => writeFileSync(join(into, 'file'), text);

  it('is not there before all of it is written', () => {
    writeWhole(folder(), (into) => {
      write('first')(into);
      expect(existsSync(folder())).toBe(false);
    });
    expect(readFileSync(join(folder(), 'file'), 'utf8')).toBe('first');
  });

  it('stays as it was if the next build fails', () => {
    writeWhole(folder(), write('first'));
    const failing = (into: string) => {
      write('second')(into);
      throw new Error('out of space');
    };
    expect(() => writeWhole(folder(), failing)).toThrow('out of space');
    expect(readFileSync(join(folder(), 'file'), 'utf8')).toBe('first');
    expect(content()).toEqual(['release']);
  });

  it('does not hold what a killed build has written, which the next build removes', () => {
    const module = JSON.stringify(join(root, 'infra/agent-package/whole-folder.ts'));
    const script = `import { writeFileSync } from 'node:fs';
      const { writeWhole } = await import(${module});
      writeWhole(${JSON.stringify(folder())}, (into) => {
        writeFileSync(into + '/file', 'half');
        process.kill(process.pid, 'SIGKILL');
      });`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    expect(signal).toBe('SIGKILL');
    expect(content()).toEqual([expect.stringMatching(/^release\.unfinished-\d+$/)]);
    writeWhole(folder(), write('whole'));
    expect(content()).toEqual(['release']);
    expect(readFileSync(join(folder(), 'file'), 'utf8')).toBe('whole');
  });

  it('of a build that runs beside this one stays', () => {
    const beside = join(directory, `release.unfinished-${process.ppid}`);
    mkdirSync(beside);
    writeWhole(folder(), write('whole'));
    expect(existsSync(beside)).toBe(true);
  });
});

it('the bill of materials of a commit is the same each time, and names the project', () => {
  const bill = readBillOfMaterials(root, 'cyborg-serverless', 0);
  expect(readBillOfMaterials(root, 'cyborg-serverless', 0)).toEqual(bill);
  expect(bill.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8/);
  expect(bill.metadata).toMatchObject({
    timestamp: '1970-01-01T00:00:00.000Z',
    component: { name: 'cyborg-serverless' },
  });
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const purls = bill.components.map(({ purl }) => purl);
  expect(purls).toContain(`pkg:npm/zod@${dependencies.zod}`);
});

it('the bill of materials of the documents has what their pages load', () => {
  const { components } = readBillOfMaterials(join(root, 'site'), 'cyborg-docs', 0);
  const names = components.map(({ purl }) => purl.replace(/@[\d.]+$/, ''));
  expect(names).toEqual(expect.arrayContaining(['pkg:npm/minisearch', 'pkg:npm/vue']));
});
