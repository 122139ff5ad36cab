// Listings read an index, and the rows afterwards: rows may change in between, and the index may
// be late.

import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { type Listings, listings } from '#core/store/listings.ts';
import { createDocuments, type Documents } from '#core/store/table/documents.ts';
import type { Page } from '#core/store/table/index-pages.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const table = `${stage}-arqs`;
const tables = {
  arqs: table,
  inventory: `${stage}-inventory`,
  profiles: `${stage}-device-profiles`,
};
const page: Page = { limit: 2, sortKey: 'uuid', sortDir: 'asc' };

const world = perFile(startWorld);
let client: Documents;
let arqs: Arq[];
let projectId: string;
let projects = 0;

beforeAll(async () => {
  client = createDocuments().documents;
  await world.createProfile('four', { 'resources:FPGA': '4' });
});

beforeEach(async () => {
  projects += 1;
  projectId = `ours-${projects}`;
  const caller = { requestId: 'req', userId: 'u', projectId, roles: ['member'] };
  const made = await createArqs(world.deps, { ...caller, hasServiceToken: false }, 'four');
  arqs = made.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
});

/** Runs after the index was read and before the rows are read. */
function listingsWith(inBetween: () => Promise<unknown>): Listings {
  let isDone = false;
  const send = async (command: { readonly constructor: { readonly name: string } }) => {
    if (command.constructor.name === 'BatchGetCommand' && !isDone) {
      isDone = true;
      await inBetween();
    }
    return client.send(command as Parameters<Documents['send']>[0]);
  };
  return listings({ send } as unknown as Documents, tables);
}

const keyOf = (at: number) => ({ pk: `ARQ#${arqs[at]?.uuid}` });
const uuidsOf = (some: readonly Arq[]) => some.map(({ uuid }) => uuid);

it('a page is full while there are more rows, even if rows are deleted during the listing', async () => {
  const lagging = listingsWith(() =>
    client.send(new DeleteCommand({ TableName: table, Key: keyOf(1) })),
  );
  const [first, , third] = uuidsOf(arqs);
  expect(uuidsOf(await lagging.arqs(page, { projectId }))).toEqual([first, third]);
});

it('a row that moves to another project during the listing is not shown', async () => {
  const lagging = listingsWith(() =>
    client.send(
      new UpdateCommand({
        TableName: table,
        Key: keyOf(0),
        UpdateExpression: 'SET project_id = :theirs',
        ExpressionAttributeValues: { ':theirs': 'theirs' },
      }),
    ),
  );
  const got = await lagging.arqs({ ...page, limit: 100 }, { projectId });
  expect(uuidsOf(got)).not.toContain(arqs[0]?.uuid);
  expect(uuidsOf(got)).toContain(arqs[1]?.uuid);
});

it('a marker is accepted in upper and lower case', async () => {
  const all = '/v2/accelerator_requests?sort_key=uuid&limit=1000';
  const { json } = await world.ask('GET', all);
  const uuids: string[] = json.arqs.map(({ uuid }) => uuid);
  const after = await world.ask('GET', `${all}&marker=${uuids[0]?.toUpperCase()}`);
  expect(after.json.arqs.map(({ uuid }) => uuid)).toEqual(uuids.slice(1));
});

it('the link to the next page keeps the query', async () => {
  const first = await world.ask('GET', '/v2/accelerator_requests?limit=1&bind_state=resolved');
  const [next] = first.json.arqs_links;
  expect(new URL(next.href).searchParams.get('bind_state')).toBe('resolved');
});
