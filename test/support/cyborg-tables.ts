// Tables of a Cyborg, as its database's client prints them: a test changes the rows that matter to
// it.

import type { tableNames } from '#operate/import/cyborg-tables.ts';

type Cell = string | number | null;
export type CyborgRow = Record<string, Cell>;
export type CyborgDump = Record<(typeof tableNames)[number], CyborgRow[]>;

export const cyborgProvider = 'c0000000-0000-3000-8000-000000000001';
export const cyborgProviderName = 'compute_1_FakeDevice';
export const cyborgHost = 'compute.1';

const times = { created_at: '2026-06-01 10:00:00', updated_at: null };
const uuidOf = (kind: number, id: number) =>
  `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(id).padStart(12, '0')}`;

export const serverOf = (id: number) => uuidOf(5, id);
export const arqOf = (id: number) => uuidOf(6, id);

/** Handle `id` of the fake driver, as Cyborg numbers them. */
function cyborgInfo(id: number): string {
  const [device, fn] = [Math.floor(id / 8), id % 8];
  return `{"domain": "0000", "bus": "0c", "device": "${device}", "function": "${fn}"}`;
}

interface CyborgShape {
  readonly handles?: number;
  readonly servers?: number;
  /** The device's state, in a database of 17.0.0; absent in those of earlier releases. */
  readonly state?: string | null;
}

/** A host with the device of the fake driver, and a server for each of its first handles. */
export function aCyborg({ handles = 4, servers = 2, state }: CyborgShape = {}): CyborgDump {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  return {
    alembic_version: [{ version_num: state === undefined ? '6c77bd6afea5' : 'b47c8f2d1e3a' }],
    device_profiles: [
      {
        id: 1,
        uuid: uuidOf(1, 1),
        name: 'fpga',
        description: null,
        profile_json:
          '{"groups": [{"resources:FPGA": "1", "trait:CUSTOM_FAKE_DEVICE": "required"}]}',
        ...times,
      },
    ],
    devices: [
      {
        id: 1,
        uuid: uuidOf(2, 1),
        type: 'FPGA',
        vendor: '0xABCD',
        model: 'miss model info',
        std_board_info: '{"device_id": "0xabcd", "class": "Fake class"}',
        vendor_board_info: 'fake_vendor_info',
        hostname: cyborgHost,
        status: 'enabled',
        ...(state !== undefined && { device_state: state }),
        ...times,
      },
    ],
    controlpath_ids: [
      {
        id: 1,
        device_id: 1,
        cpid_type: 'PCI',
        cpid_info: '{"domain":"0000","bus":"0c","device":"00","function":"0"}',
      },
    ],
    deployables: [
      {
        id: 1,
        uuid: uuidOf(3, 1),
        name: cyborgProviderName,
        num_accelerators: handles,
        device_id: 1,
        rp_uuid: cyborgProvider,
        driver_name: 'fake',
        bitstream_id: null,
        ...times,
      },
    ],
    attributes: [
      { id: 1, uuid: uuidOf(7, 1), deployable_id: 1, key: 'rc', value: 'FPGA', ...times },
      {
        id: 2,
        uuid: uuidOf(7, 2),
        deployable_id: 1,
        key: 'traits1',
        value: 'CUSTOM_FAKE_DEVICE',
        ...times,
      },
    ],
    attach_handles: ids(handles).map((id) => ({
      id,
      uuid: uuidOf(4, id),
      deployable_id: 1,
      in_use: id <= servers ? 1 : 0,
      attach_type: 'TEST_PCI',
      attach_info: cyborgInfo(id),
    })),
    extended_accelerator_requests: ids(servers).map((id) => ({
      id,
      uuid: arqOf(id),
      project_id: null,
      state: 'Bound',
      device_profile_id: 1,
      device_profile_group_id: 0,
      hostname: cyborgHost,
      device_rp_uuid: cyborgProvider,
      instance_uuid: serverOf(id),
      attach_handle_id: id,
      ...times,
    })),
  };
}

/** What `mysql --xml` prints for the statements. */
export function xmlOf(dump: Partial<CyborgDump>): string {
  const documents = Object.entries(dump).map(
    ([name, rows]) => `<?xml version="1.0"?>

<resultset statement="SELECT * FROM ${name}
" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">${rows.map(rowText).join('')}
</resultset>`,
  );
  return documents.join('\n');
}

function rowText(row: CyborgRow): string {
  const fields = Object.entries(row).map(([name, value]) =>
    value === null
      ? `\t<field name="${name}" xsi:nil="true" />`
      : `\t<field name="${name}">${escaped(String(value))}</field>`,
  );
  return `\n  <row>\n${fields.join('\n')}\n  </row>\n`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
