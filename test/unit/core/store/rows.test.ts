import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import { arqRow, instanceRow, toArq, toInstance } from '#core/store/rows/arq-rows.ts';
import { handleRow, toHandle } from '#core/store/rows/handle-rows.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import {
  attributeField,
  attributeValue,
  deployableRow,
  toDeployable,
} from '#core/store/rows/inventory-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { aBinding, aDeployable, anArq, aStoredHandle } from '#test/support/builders.ts';

const at = '2026-07-01T01:02:03.000Z';
const handle = aStoredHandle();
const arq = anArq({ state: 'Unbound' });
const deployable = aDeployable();

function stored(row: Row): Row {
  return unmarshall(marshall(row, { removeUndefinedValues: true }));
}

describe('the row', () => {
  it('of an unbound ARQ is read as it was written', () => {
    expect(toArq(stored(arqRow(arq)))).toEqual(arq);
  });

  it('of a deployable has its added attributes and the last program', () => {
    const attribute = {
      uuid: 'a',
      deployableUuid: deployable.uuid,
      key: 'k',
      value: 'v',
      isReported: false,
      createdAt: at,
    };
    const note = { image: 'i', by: 'admin', at, state: 'started' } as const;
    const row = {
      ...deployableRow(deployable),
      program_note: note,
      [attributeField('a')]: attributeValue(attribute),
    };
    const added = { program: note, addedAttributes: [attribute] };
    expect(toDeployable(stored(row))).toEqual({ ...deployable, ...added });
  });

  it('of a claimed handle names its ARQ and its instance', () => {
    const row = { ...handleRow(handle), arq_uuid: 'a', instance_uuid: 'i' };
    expect(toHandle(stored(row)).claim).toEqual({ arqUuid: 'a', instanceUuid: 'i' });
  });

  it('of a host may be absent, or only a lease', () => {
    const empty = { hostname: 'cmp1', epoch: 0, sequence: -1, wanted: {}, refused: {} };
    expect(toHost('cmp1')).toMatchObject(empty);
    expect(toHost('cmp1', { lease_holder: 'one' })).toEqual(toHost('cmp1'));
  });
});

describe('an invalid row', () => {
  it('is refused with its key, the attribute and what is allowed', () => {
    const { arq_uuids, ...row } = instanceRow(aBinding());
    expect(() => toInstance(row)).toThrow(
      `Row INSTANCE#${aBinding().instanceUuid} is invalid: arq_uuids: Invalid input: expected array`,
    );
    expect(() => toHandle({ ...handleRow(handle), arq_uuid: 'a' })).toThrow('instance_uuid: ');
    expect(() => toArq({ ...arqRow(arq), state: 'Lost' })).toThrow('state: Invalid option');
  });
});
