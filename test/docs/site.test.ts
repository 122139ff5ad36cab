// `npm run docs`: questions of users find their page in the search of the site, and each link of
// the built site leads to a page and a heading. It needs the packages of site/.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '#infra/docs/site.ts';
import { anchorsOf, resolveLink } from './links.ts';

const isInstalled = existsSync(join(root, 'site/node_modules'));
const when = isInstalled ? '' : ' (skipped: npm --prefix site ci has not run)';

/** What users type, and the page that answers. */
const questions: readonly (readonly [question: string, page: string])[] = [
  ['my vGPU server: No valid host', 'docs/openstack.md'],
  ['403 at boot', 'docs/quotas.md'],
  ['add a host', 'docs/agent.md'],
  ['replace a GPU', 'docs/tasks.md'],
  ['what does it cost', 'docs/scale.md'],
  ['upgrade', 'docs/deploy.md'],
  ['can I run it without AWS', 'docs/tutorial.md'],
  ['which Nova do I need', 'docs/openstack.md'],
  ['what if AWS is away', 'docs/operations/region-away.md'],
  ['MIG', 'edge-agent/drivers/nvidia/README.md'],
  ['pass an FPGA image', 'docs/device-profiles.md'],
  ['quota', 'docs/quotas.md'],
  ['rename a profile', 'docs/device-profiles.md'],
  ['why did my server fail', 'docs/openstack.md'],
  ['import from Cyborg', 'docs/import.md'],
  ['agent does not start', 'docs/agent.md'],
  ['device in quarantine', 'docs/operations/quarantine.md'],
  ['drain a host', 'docs/operator-api.md'],
  ['live migration', 'docs/openstack.md'],
  ['remove the stack', 'docs/deploy.md'],
];

const answersPage = 'docs/questions.md';

/** The page of a result. An answer in docs/questions.md counts as the pages that it links. */
function pagesOf(result: string): readonly string[] {
  const [path = '', anchor = ''] = result.slice(1).split('#');
  const page = path.replace(/html$/, 'md');
  if (page !== answersPage) return [page];
  const text = readFileSync(join(root, answersPage), 'utf8');
  const section = text.split(/^(?=#+ )/m)[anchorsOf(text).indexOf(anchor)] ?? '';
  const links = [...section.matchAll(/\]\(([^)\s]+)\)/g)];
  return links.map(([, link = '']) => resolveLink(answersPage, link).path);
}

describe.runIf(isInstalled)(`the search of the site${when}`, () => {
  const decision = 'Context Options Decision Consequences';
  const results = new Map<string, readonly string[]>();

  beforeAll(() => {
    const asked = [...questions.map(([question]) => question), decision];
    const input = JSON.stringify(asked);
    const script = join(root, 'site/questions.ts');
    const printed = execFileSync(process.execPath, [script], { input, encoding: 'utf8' });
    const answers: string[][] = JSON.parse(
      printed.split('\n').find((line) => line.startsWith('[[')) ?? '',
    );
    for (const [at, question] of asked.entries()) results.set(question, answers[at] ?? []);
  });

  it.each(questions)('"%s" has %s among the first three', (question, page) => {
    expect(existsSync(join(root, page))).toBe(true);
    const first = results.get(question)?.slice(0, 3) ?? [];
    expect(first.map((result) => [result, pagesOf(result)])).toContainEqual([
      expect.any(String),
      expect.arrayContaining([page]),
    ]);
  });

  it('finds no decisions', () => {
    const found = [...results.values()].flat();
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter((result) => result.startsWith('/docs/adr/'))).toEqual([]);
  });
});

describe.runIf(isInstalled)(`the built site${when}`, { tags: ['long'] }, () => {
  const made = mkdtempSync(join(tmpdir(), 'site-'));
  const folder = join(made, 'docs');
  const textOf = (path: string) => readFileSync(join(folder, path), 'utf8');
  const pages = () => globSync('**/*.html', { cwd: folder });

  beforeAll(() => {
    const args = [join(root, 'infra/docs/main.ts'), '--out', folder];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
  afterAll(() => rmSync(made, { recursive: true }));

  it('has a page for each document', () => {
    const documents = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((file) => file !== '' && !file.startsWith('.') && existsSync(join(root, file)))
      .map((file) => file.replace(/md$/, 'html'));
    expect(documents.length).toBeGreaterThan(100);
    expect(documents.filter((page) => !pages().includes(page))).toEqual([]);
  });

  it('has each link lead to a file and a heading', () => {
    const isDead = (page: string, link: string) => {
      const [target = '', anchor] = link.split('#');
      const at = target.startsWith('/') ? target : join(dirname(page), target);
      const path = target === '' ? page : normalize(at).replace(/^\//, '');
      if (!existsSync(join(folder, path))) return true;
      return Boolean(anchor) && !textOf(path).includes(`id="${decodeURIComponent(anchor ?? '')}"`);
    };
    const dead = pages().flatMap((page) =>
      [...textOf(page).matchAll(/\s(?:href|src)="([^"]*)"/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link) && link !== '/' && isDead(page, link))
        .map((link) => `${page}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it('needs no network: what a page loads is of the site', () => {
    const address = '(?:https?:)?//';
    const loads = [
      [
        '**/*.html',
        `<(?:script|img|iframe|link (?!rel="canonical"))[^>]*(?:src|href)="${address}[^"]*`,
      ],
      ['**/*.{html,css}', `(?:url\\(|@import )["']?${address}[^)]*`],
      ['**/*.js', `(?:import\\(|import|from)\\s*["']${address}[^"']*`],
    ] as const;
    const foreign = loads.flatMap(([files, load]) =>
      globSync(files, { cwd: folder }).flatMap((path) =>
        [...textOf(path).matchAll(new RegExp(load, 'g'))].map(([each]) => `${path}: ${each}`),
      ),
    );
    expect(foreign).toEqual([]);
  });

  it('leaves no Markdown in a page', () => {
    const left = pages().flatMap((page) => {
      const prose = textOf(page).replaceAll(/<(pre|code|script)\b[\s\S]*?<\/\1>/g, '');
      return [...prose.matchAll(/^(#+ |```|\|).*|\]\([^)]*\)|\*\*/gm)].map(
        ([found]) => `${page}: ${found}`,
      );
    });
    expect(left).toEqual([]);
  });

  it('has its search index as one file, without decisions', () => {
    const [index = '', ...others] = globSync('assets/chunks/@localSearchIndex*', { cwd: folder });
    expect(others).toEqual([]);
    expect(textOf(index)).toContain('/docs/quotas.html#whose-quota');
    expect(textOf(index)).not.toContain('/docs/adr/');
  });
});
