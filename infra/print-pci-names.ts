// `npm run -s pci-names -- FILE`: prints the names of models that the agent's drivers report
// (edge-agent/drivers/pci/naming/model-names.ts), from the file of Debian's package pci.ids.

import { readFileSync } from 'node:fs';

interface Vendor {
  readonly shown: string;
  /** Names of accelerators and network cards; pci.ids has no class of a product. */
  readonly wanted: RegExp;
  readonly unwanted?: RegExp;
}

const vendors: Readonly<Record<string, Vendor>> = {
  '1002': { shown: 'AMD', wanted: /^(Radeon )?Instinct|^Radeon Pro V\d/ },
  '10de': {
    shown: 'NVIDIA',
    wanted:
      /^(A\d|H\d|L\d|B\d|G[BH]\d|HGX|Tesla ([PTV]\d|M\d\d?$)|RTX (PRO|A\d|\d+ Ada|\d+ SFF Ada)|Quadro RTX)/,
    unwanted:
      /PG5|Mobile|Max-Q|Laptop|Embedded|NVSwitch|-A1|Audio|bridge|PCIe host|^(GH100|GB1\d\d|GB20\d)$/,
  },
  '10ee': { shown: 'Xilinx', wanted: /^Alveo|SmartSSD/ },
  '14e4': { shown: 'Broadcom', wanted: /NetXtreme-E/, unwanted: /Partition|RDMA Virtual/ },
  '15b3': {
    shown: 'NVIDIA',
    wanted: /^ConnectX-[4-9]|^ConnectX Family|BlueField.* (integrated|network)/,
    unwanted: /Bridge|Switch|Flash|Recovery|DMA|Programmable/,
  },
  '8086': {
    shown: 'Intel',
    wanted:
      /^(Data Center GPU|Server GPU|Arc Pro|FPGA|PAC |Ethernet (Controller|\w*.?Virtual Function) ?(E[68]|X[5-7]|XL|XXV|7)|Ethernet Adaptive Virtual|I350)|NPU$/,
    unwanted: /LM\b|Bridge|[Bb]ackplane|N3000 for|XL710 Emulation/,
  },
};

const [file = '/usr/share/misc/pci.ids'] = process.argv.slice(2);
const lines = readFileSync(file, 'utf8').split('\n');
const version = lines.flatMap((line) => /^#\s+Version: (\S+)/.exec(line)?.[1] ?? [])[0];
if (!version) throw new Error(`${file} has no version: it is not pci.ids.`);

const names = new Map<string, string[]>();
let vendor = '';
for (const line of lines) {
  // Classes come last, and have lines of the same form.
  if (line.startsWith('C ')) break;
  vendor = /^([0-9a-f]{4}) {2}/.exec(line)?.[1] ?? vendor;
  const [, product, text] = /^\t([0-9a-f]{4}) {2}(.+)$/.exec(line) ?? [];
  const { wanted, unwanted } = vendors[vendor] ?? {};
  if (!product || !text || !wanted) continue;
  // `GA102GL [A40]`: the name in the shop is in brackets.
  const name = (/\[([^\]]+)\]/.exec(text)?.[1] ?? text)
    .replaceAll(/\(R\)|[^\x20-\x7e`$\\]/g, '')
    .trim();
  if (wanted.test(name) && !unwanted?.test(name)) {
    names.set(vendor, [...(names.get(vendor) ?? []), `${product} ${name}`]);
  }
}

const tables = Object.entries(vendors).map(
  ([id, { shown }]) => `  '${id}': \`${shown}\n${(names.get(id) ?? []).join('\n')}\`,`,
);
process.stdout.write(
  `// Names of models by pci.ids ${version} (https://pci-ids.ucw.cz; GPL-2.0-or-later or
// BSD-3-Clause). \`npm run pci-names\` has printed it.

/** Vendor id → the name of the vendor, and lines of a product id and its name. */
export const modelNames: Readonly<Record<string, string>> = {
${tables.join('\n')}
};
`,
);
