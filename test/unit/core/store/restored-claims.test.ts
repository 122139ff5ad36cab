import { expect, it } from 'vitest';
import { restoreClaims } from '#core/store/backups/restored-claims.ts';
import type { Row } from '#core/store/rows/rows.ts';

const place = { hostname: 'cmp1', device_uuid: 'device', resource_class: 'FPGA' };
const facts = {
  project_id: 'first',
  profile_name: 'fpga',
  at: '2026-01-01T00:00:00.000Z',
  ...place,
};
const claimed = {
  pk: 'RP#p',
  sk: 'HANDLE#h',
  arq_uuid: 'a',
  instance_uuid: 'i',
  claim_facts: facts,
};
const { arq_uuid, instance_uuid, claim_facts, ...free } = claimed;
const bindOf = (uuid: string, project: string) => [
  {
    pk: `ARQ#${uuid}`,
    uuid,
    instance_uuid: `of-${uuid}`,
    bind_id: 'b',
    project_id: project,
    profile_name: 'gpu',
    provider_uuid: 'p',
    handle_uuid: 'h',
  },
  { pk: `INSTANCE#of-${uuid}`, started_at: '2026-02-01T00:00:00.000Z', arq_uuids: [uuid] },
];

function restored(handle: Row, arqs: readonly Row[]): Row | undefined {
  const deployable = { pk: 'RP#p', sk: 'DEPLOYABLE', deployable: place };
  const byKey = (rows: readonly Row[]) =>
    new Map(rows.map((row) => [`${row.pk} ${row.sk ?? ''}`, row]));
  return restoreClaims(byKey(arqs), byKey([deployable, handle])).get('RP#p HANDLE#h');
}

const factsOfOther = {
  project_id: 'second',
  profile_name: 'gpu',
  at: '2026-02-01T00:00:00.000Z',
  ...place,
};

it('keeps the facts of a claim whose ARQ is in the backup', () => {
  expect(restored(claimed, bindOf('a', 'first'))?.claim_facts).toEqual(facts);
});

it('keeps no facts of a claim that the backup does not have', () => {
  expect(restored(claimed, [])).toEqual(free);
});

it.each([
  ['another ARQ', claimed],
  ['no ARQ', free],
])('has the facts of the ARQ that names a handle claimed by %s', (_, handle) => {
  expect(restored(handle, bindOf('b', 'second'))).toMatchObject({
    arq_uuid: 'b',
    claim_facts: factsOfOther,
  });
});

it('keeps the quarantine of an import, for which no work waits', () => {
  const unclean = { ...free, quarantine: 'not cleaned' };
  expect(restored(unclean, [])).toEqual(unclean);
  expect(restored({ ...unclean, release_id: 'r' }, [])).toEqual(free);
});
