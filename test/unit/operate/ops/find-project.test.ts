// A project is named by its name or its id, and the verb asks with the id.

import { beforeAll, describe, expect, it } from 'vitest';
import { createHttp } from '#core/clients/http.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { parse } from '#operate/ops/arguments/parse.ts';
import { withProjectIds } from '#operate/ops/sign-in/find-project.ts';
import { createKeystone, type Keystone } from '#operate/ops/sign-in/keystone.ts';
import { table } from '#operate/ops/table.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { wordsOf } from './command-lines.ts';

const cloud = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
const demo = idOf('project', 'demo');
let admin: Keystone;
let member: Keystone;

beforeAll(() => {
  const as = (token: string) => createKeystone(createHttp(), cloud.url, { token });
  admin = as('admin-token');
  member = as('demo-token');
});

async function resolved(line: string, keystone: Keystone) {
  const parsed = parse(wordsOf(line), table, 0);
  if (parsed.kind !== 'api') throw new TypeError(`${line} asks no API.`);
  return withProjectIds(parsed.verb as ApiVerb, parsed.input, keystone);
}

it.each([
  ['quota show demo', 'argument'],
  ['quota set demo FPGA=0', 'argument'],
  ['quota unset demo', 'argument'],
  ['profiles publish fpga --project demo', 'option'],
  ['devices grant 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --project demo --until 4h', 'option'],
  ['devices revoke 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --project demo', 'option'],
  ['usage --project demo', 'option'],
  ['who-uses --project demo', 'option'],
  ['history --project demo', 'option'],
])('%s asks with the id', async (line, kind) => {
  const input = await resolved(line, admin);
  expect(kind === 'argument' ? input.argument('project') : input.text('project')).toBe(demo);
  expect(input.all('project')).toEqual(kind === 'argument' ? [] : [demo]);
});

it('other words stay as they are', async () => {
  const input = await resolved('profiles publish demo --project demo --project alt', admin);
  expect(input.argument('profile')).toBe('demo');
  expect(input.all('project')).toEqual([demo, idOf('project', 'alt')]);
});

it.each([
  'quota unset demo --id',
  'devices revoke 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --project demo --id',
])('%s asks with the word, of which a row is left', async (line) => {
  const input = await resolved(line, admin);
  expect(line.startsWith('quota') ? input.argument('project') : input.text('project')).toBe('demo');
});

describe('a project', () => {
  it('that is given by an id is not looked up', async () => {
    const ask = () => Promise.reject(new Error('Keystone was asked'));
    expect((await resolved(`quota show ${demo}`, { ask })).argument('project')).toBe(demo);
  });

  it('that a user may not list is found among those of the user', async () => {
    expect((await resolved('usage --project demo', member)).text('project')).toBe(demo);
    await expect(resolved('usage --project alt', member)).rejects.toThrow(/alt/);
  });

  it.each(['nope', 'Demo', 'default', '../users', demo.toUpperCase()])(
    'that Keystone does not have is refused: %s',
    async (text) => {
      const sentence = `Keystone has no project with the name or id ${text}.`;
      await expect(resolved(`quota set ${text} FPGA=1`, admin)).rejects.toThrow(sentence);
    },
  );

  it('whose name two domains have is refused with both', async () => {
    const projects = [
      { id: 'a1', name: 'demo', domain_id: 'default' },
      { id: 'b2', name: 'demo', domain_id: 'other' },
    ];
    const ask: Keystone['ask'] = async ({ schema }) => schema.parse({ projects });
    await expect(resolved('quota set demo FPGA=0', { ask })).rejects.toThrow(
      'Several projects are named demo: give the id, which is one of a1 in domain default, b2 in domain other.',
    );
  });
});
