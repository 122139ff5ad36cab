// The dry run on the tables of a real Cyborg, and on the same tables after they were damaged.

import assert from 'node:assert/strict';
import type { Scenario } from '#test/openstack/scenario.ts';
import type { Move } from './stage.ts';

/** A change of the tables' text → what the command says of it. */
interface Damage {
  readonly name: string;
  readonly change: (xml: string) => string;
  readonly says: RegExp;
}

const damages: readonly Damage[] = [
  {
    name: 'a database of another version',
    change: (xml) => xml.replace('4cc1d79978fc', '899cead40bc9'),
    says: /migration 899cead40bc9; it must be 4cc1d79978fc/,
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

export function dryRuns(move: Move): readonly Scenario[] {
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
        for (const { name, change, says } of damages) {
          const file = await move.dump(change);
          const { code, out, err } = await move.ops(['cyborg', '--tables', file, '--apply']);
          assert.match(`${out}${err}`, says, name);
          assert.equal(code, 1, name);
        }
        const clean = await move.ops(['cyborg', '--tables', await move.dump()]);
        assert.match(clean.out, /15 to import, 0 present/);
        return damages.map(({ name }) => name).join(', ');
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
