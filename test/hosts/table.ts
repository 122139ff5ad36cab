// test/hosts/README.md: what the agent's drivers offer of recorded hosts, and why not the rest.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { parseHost } from '#agent/record/host-record.ts';
import { type OfferedRow, offerHost } from './offer-host.ts';

export const recordsDirectory = join(import.meta.dirname, 'records');
export const tableFile = join(import.meta.dirname, 'README.md');

const introduction = `# Recorded hosts

No card was at hand when this was written.
The drivers were tried on simulated devices, on test devices of real kernels, and on the hosts below, of which only the lists of devices are real.
Each table has what the agent offers of a host if its operator wants each accelerator, NVMe device and network card as a whole, or why it refuses one.
\`npm run hosts\` makes this page from \`test/hosts/records/\`, and a test compares it.

Where a record has no IOMMU groups, each device is taken to have its own, and to have a reset.
A use that is not in a record, such as a mount, a route or an open file, is taken not to be there.

One command makes a report of a host with cards, to send: as root, \`node cyborg-agent.mjs self-test --report report.txt\`.
It needs no settings and no connection, changes nothing, and takes ten minutes at most ([self-test](../../docs/agent/self-test.md#reports)).
Send the file with a new issue of this project, after you have read it.
The command \`record\` prints the last part of it alone, and reads sysfs and procfs only.
Both leave out or replace serial numbers, addresses of networks, and names of hosts, users and file systems.
\`npm run hosts:add -- NAME FILE\` adds one, or makes one of what \`lspci -nnk\`, \`udevadm info --export-db\` or \`dmesg\` prints.

Reports received: none yet.
`;

export async function printTable(): Promise<string> {
  const sections: string[] = [];
  for (const file of readdirSync(recordsDirectory).sort()) {
    const text = readFileSync(join(recordsDirectory, file), 'utf8');
    const [title, ...facts] = text.split('\n').flatMap((line) => /^# (.+)/.exec(line)?.[1] ?? []);
    const rows = await offerHost(parseHost(text));
    sections.push(
      [
        `## ${title}`,
        '',
        ...facts.map((fact) => `${fact}.`),
        '',
        '| devices | model | driver | offered as, or why not |',
        '|---|---|---|---|',
        ...alike(rows).map(([first, count]) => printRow(first, count)),
        '',
      ].join('\n'),
    );
  }
  return [introduction, ...sections].join('\n');
}

/** The first of each run of rows that say the same, and their count. */
function alike(rows: readonly OfferedRow[]): (readonly [OfferedRow, number])[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify({ ...row, address: '' }));
  return [...groups.values()].flatMap((group) => (group[0] ? [[group[0], group.length]] : []));
}

function printRow({ address, ids, driver, outcome }: OfferedRow, count: number): string {
  const others = count > 1 ? ` and ${count - 1} more` : '';
  const [vendorId = '', productId = ''] = ids.split(':');
  const name = modelName({ vendorId, productId });
  const model = name === undefined ? `\`${ids}\`` : `${name}, \`${ids}\``;
  return `| \`${address}\`${others} | ${model} | \`${driver}\` | ${outcome} |`;
}
