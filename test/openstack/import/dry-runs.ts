// The dry run on the tables of a real Cyborg, and on the same tables after they were damaged.

import assert from 'node:assert/strict';
import type { Scenario } from '#test/openstack/scenario.ts';
import type { Move } from './stage.ts';

function withRevision(xml: string, revision: string): string {
  return xml.replace(/(<field name="version_num">)\w+/, `$1${revision}`);
}

/** A change of the tables' text → what the command says of it. */
interface Damage {
  readonly name: string;
  readonly change: (xml: string) => string;
  readonly says: RegExp;
}

const damages: readonly Damage[] = [
  {
    name: 'a database that lacks a column of its migration',
    change: (xml) => withRevision(xml, '6c77bd6afea5').replaceAll('name="status"', 'name="other"'),
    says: /half migrated: alembic_version is 6c77bd6afea5, and the table devices lacks the column status/,
  },
  {
    name: 'a database that has a column of a later migration',
    change: (xml) =>
      withRevision(xml, 'a35b4295a0e5').replaceAll(
        /<field name="hostname">(.*?<\/field>)/g,
        '<field name="status">enabled</field><field name="device_state">available</field>$&',
      ),
    says: /half migrated: alembic_version is a35b4295a0e5, and the table devices has the column device_state/,
  },
  {
    name: 'a table without a needed column',
    change: (xml) => xml.replaceAll('name="attach_info"', 'name="attach_data"'),
    says: /lacks the columns attach_handles\.attach_info, which the import needs/,
  },
  {
    name: 'a file that ends too early',
    change: (xml) => xml.slice(0, xml.length - 400),
    says: /ends in the middle of a table/,
  },
  {
    name: 'an unknown type of device',
    change: (xml) => xml.replace('<field name="type">FPGA<', '<field name="type">DPU<'),
    says: /refuse +device .*type DPU is none of GPU, FPGA/,
  },
  {
    name: 'an ARQ without a handle',
    change: (xml) =>
      xml.replace(
        /<field name="attach_handle_id">\d+<\/field>/,
        '<field name="attach_handle_id" xsi:nil="true" />',
      ),
    says: /refuse +server .*ARQ \S+ has no attach handle/,
  },
  {
    name: 'a half-deleted ARQ',
    change: (xml) => xml.replace('<field name="in_use">1<', '<field name="in_use">0<'),
    says: /refuse +server .*half deleted: its attach handle is not marked as in use/,
  },
  {
    name: 'an mdev of a type that is not offered',
    change: (xml) => {
      const [, id] = /<field name="attach_handle_id">(\d+)</.exec(xml) ?? [];
      const row = new RegExp(
        `(<field name="id">${id}</field>\\s*<field name="uuid">[^<]*</field>\\s*<field name="deployable_id">.*?<field name="attach_type">)TEST_PCI(</field>\\s*<field name="attach_info">)[^<]*`,
        's',
      );
      return xml.replace(row, '$1MDEV$2{&quot;asked_type&quot;: &quot;nvidia-223&quot;}');
    },
    says: /refuse +server .*mdev of type nvidia-223/,
  },
];

/** What only a database with the states of devices can have. */
const damagedState: Damage = {
  name: 'a server whose device is being cleaned',
  change: (xml) => xml.replace(/(<field name="device_state">)\w+/, '$1pending_cleaning'),
  says: /refuse +server .*is Bound, but its device was in the state pending_cleaning in Cyborg/,
};

export function dryRuns(move: Move): readonly Scenario[] {
  const { hasDeviceState } = move.cyborg.release;
  const all = hasDeviceState ? [...damages, damagedState] : damages;
  return [
    {
      name: 'dry run: names what it would import, and writes nothing',
      run: async () => {
        const { code, out, err } = await move.ops(['cyborg', '--tables', await move.dump()]);
        assert.equal(code, 0, err);
        assert.match(out, /15 to import, 0 present, 0 skipped, 0 refused/);
        const again = await move.ops(['cyborg', '--tables', await move.dump()]);
        assert.equal(again.out, out);
        return out.trim();
      },
    },
    {
      name: 'dry run: refuses damaged tables by name, and --apply writes nothing then',
      run: async () => {
        for (const { name, change, says } of all) {
          const file = await move.dump(change);
          const { code, out, err } = await move.ops(['cyborg', '--tables', file, '--apply']);
          assert.match(`${out}${err}`, says, name);
          assert.equal(code, 1, name);
        }
        const clean = await move.ops(['cyborg', '--tables', await move.dump()]);
        assert.match(clean.out, /15 to import, 0 present/);
        return all.map(({ name }) => name).join(', ');
      },
    },
    {
      name: 'dry run: reads a database with an unknown migration, and warns',
      run: async () => {
        const file = await move.dump((xml) => withRevision(xml, 'c0ffee000000'));
        const { code, out, err } = await move.ops(['cyborg', '--tables', file]);
        assert.equal(code, 0, err);
        assert.match(err, /has the migration c0ffee000000, which this command does not know/);
        assert.match(out, /15 to import, 0 present, 0 skipped, 0 refused/);
        return err.trim();
      },
    },
    {
      name: 'dry run: refuses a cloud without Placement',
      run: async () => {
        const file = await move.dump();
        const kept = process.env.PLACEMENT_URL;
        process.env.PLACEMENT_URL = 'http://127.0.0.1:1';
        try {
          const { code, err } = await move.ops(['cyborg', '--tables', file, '--apply']);
          assert.equal(code, 2);
          assert.match(err, /placement/i);
          return err.trim().split('\n')[0] ?? '';
        } finally {
          process.env.PLACEMENT_URL = kept;
        }
      },
    },
  ];
}
