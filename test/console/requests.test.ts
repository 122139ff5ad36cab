import { describe, expect, it } from 'vitest';
import type { Arq } from '#console/api/answers.ts';
import { matchingRows, type RowFilters, requestRows } from '#console/requests/request-rows.ts';
import { anIncident, aRecord, time } from './answers.ts';

function anArq(uuid: string, state: Arq['state'], at = time): Arq {
  return {
    uuid,
    state,
    device_profile_name: 'fpga',
    device_profile_group_id: 0,
    hostname: 'cmp1',
    device_rp_uuid: null,
    instance_uuid: `server-${uuid}`,
    project_id: 'project',
    attach_handle_type: '',
    attach_handle_uuid: null,
    attach_handle_info: {},
    created_at: at,
    updated_at: null,
    links: [],
  };
}

describe('requests', () => {
  it('are found by state and by parts of names and ids, all of which must be there', () => {
    const arqs = [
      anArq('one', 'Bound'),
      anArq('two', 'BindStarted'),
      anArq('stuck', 'BindStarted'),
    ];
    const incident = anIncident({ kind: 'stuck-job', instance_uuid: 'server-stuck' });
    const rows = requestRows(arqs, [incident], []);
    const uuids = (filters: RowFilters) =>
      matchingRows(rows, filters).map(({ arqUuid }) => arqUuid);
    expect(uuids({})).toEqual(['stuck', 'two', 'one']);
    expect(uuids({ state: 'unsettled' })).toEqual(['stuck', 'two']);
    expect(uuids({ state: 'stuck' })).toEqual(['stuck']);
    expect(uuids({ state: 'Bound' })).toEqual(['one']);
    expect(uuids({ host: 'CMP', profile: 'fpga', project: 'proj', server: '-two' })).toEqual([
      'two',
    ]);
    expect(uuids({ host: 'cmp2', server: '-two' })).toEqual([]);
  });

  it('come stuck first, then failed, then waiting for longest; what is settled last', () => {
    const arqs = [
      anArq('bound-old', 'Bound', '2026-11-23T00:00:00+00:00'),
      anArq('bound-new', 'Bound', '2026-11-23T02:00:00+00:00'),
      anArq('waiting-new', 'BindStarted', '2026-11-23T02:00:00+00:00'),
      anArq('waiting-old', 'BindStarted', '2026-11-23T00:00:00+00:00'),
      anArq('stuck', 'BindStarted'),
      anArq('failed', 'BindFailed'),
    ];
    const incidents = [anIncident({ kind: 'stuck-job', instance_uuid: 'server-stuck' })];
    const order = requestRows(arqs, incidents, []).map(({ arqUuid }) => arqUuid);
    expect(order).toEqual([
      ...['stuck', 'failed', 'waiting-old', 'waiting-new', 'bound-new', 'bound-old'],
    ]);
  });

  it('have the reason and the next step of their incident', () => {
    const incident = anIncident({ instance_uuid: 'server-a' });
    const [row] = requestRows([anArq('a', 'BindFailed')], [incident], []);
    expect(row).toMatchObject({ reason: 'The GPU is on fire.', nextStep: 'Put it out.' });
  });

  it('of a tenant have the reason of their record, and a next step', () => {
    const rows = requestRows(
      [anArq('a', 'BindFailed'), anArq('b', 'Bound')],
      [],
      [{ ...aRecord, arq_uuids: ['a', 'b'] }],
    );
    expect(rows.map(({ reason, nextStep }) => [reason, nextStep !== undefined])).toEqual([
      ['Too hot.', true],
      [undefined, false],
    ]);
  });

  it('that only an incident names are listed, too, and each once', () => {
    const incidents = [
      anIncident({ arq_uuid: 'old', instance_uuid: 'server-old' }),
      anIncident({ arq_uuid: 'a', instance_uuid: 'server-a' }),
      anIncident({ kind: 'stuck-job', device_uuid: 'no-arq' }),
    ];
    const rows = requestRows([anArq('a', 'BindFailed')], incidents, []);
    expect(rows.map(({ arqUuid }) => arqUuid).sort()).toEqual(['a', 'old']);
  });
});
