// Lists in tests that a change of the product must extend. A failure names the line to add.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { routes } from '#functions/routes.ts';
import { authorization, roles } from '#test/api/authorization.ts';
import { leftOut, suite } from '#test/aws/suite.ts';
import { ownFixtures } from '#test/drivers/fixtures.ts';
import { guides } from '#test/operate/guide-blocks.ts';
import { namedBlocks } from '#test/support/doc-examples.ts';

const root = join(import.meta.dirname, '../..');

/** Lines to add to a list, and entries of it that nothing needs. */
function changesOf(
  needed: readonly string[],
  listed: readonly string[],
  lineFor: (name: string) => string,
): readonly string[] {
  return [
    ...needed.filter((name) => !listed.includes(name)).map((name) => `add ${lineFor(name)}`),
    ...listed.filter((name) => !needed.includes(name)).map((name) => `remove '${name}'`),
  ];
}

describe('test/api/authorization.ts', () => {
  it('has a row for each route that is not open to all', () => {
    const closed = routes.filter(({ policy }) => policy !== undefined);
    const names = closed.map(({ method, path }) => `${method} ${path}`);
    const line = (name: string) => `'${name}': 'nn nn nn hh nn', or the rights that it has`;
    expect(changesOf(names, Object.keys(authorization), line)).toEqual([]);
  });

  it('has a column for each role in its rows', () => {
    const columns = Object.values(authorization).map((row) => row.split(' ').length);
    expect(new Set(columns)).toEqual(new Set([roles.length]));
  });
});

describe('test/aws/suite.ts', () => {
  it('has each file of test/integration, with the services that it needs', () => {
    const files = readdirSync(join(root, 'test/integration')).map(
      (file) => `test/integration/${file}`,
    );
    const listed = [...suite.map(({ file }) => file), ...Object.keys(leftOut)].filter((file) =>
      file.startsWith('test/integration/'),
    );
    const line = (file: string) => `{ file: '${file}', needs: everywhere }`;
    expect(changesOf(files, listed, line)).toEqual([]);
  });

  it('says which of them follow the streams', () => {
    const follows = ({ file }: { file: string }) =>
      /consumers: (true|'streams')|startConsumers/.test(readFileSync(join(root, file), 'utf8'));
    const named = (some: typeof suite) => some.map(({ file }) => file);
    expect(named(suite.filter(({ needs }) => needs.includes('dynamodb-streams')))).toEqual(
      named(suite.filter(follows)),
    );
  });
});

describe.each(guides)('the blocks of docs/$page in test/operate/guide-blocks.ts', (guide) => {
  const blocks = namedBlocks(guide.page);

  it('are all there', () => {
    const listed = [...guide.run, ...Object.keys(guide.notRun)];
    const line = (name: string) => `'${name}' to run, or to notRun with the reason`;
    expect(changesOf([...blocks.keys()], listed, line)).toEqual([]);
  });

  it('say in their names what they are for', () => {
    for (const [name, content] of blocks) {
      expect(/\baws |cdk d|preflight/.test(content), name).toBe(name.startsWith('aws:'));
      expect(content.includes('root@'), name).toBe(name.startsWith('host:'));
    }
  });
});

describe('test/drivers', () => {
  it('has a fixture for each driver', async () => {
    const checked = (await ownFixtures()).map(({ fixture }) => fixture.module.name);
    const names = ownDrivers.map(({ name }) => name);
    const line = (name: string) => `a folder with the fixture.ts of ${name}`;
    expect(changesOf(names, [...new Set(checked)], line)).toEqual([]);
  });
});
