// Settings of nova.conf for PCI passthrough and mediated devices, read as oslo.config reads it:
// several files are one, and names that Nova has deprecated count. Pure.

/** nova.conf is not readable as settings; the message names the place. */
export class NovaConfRefused extends Error {
  override readonly name = 'NovaConfRefused';
}

interface ConfFile {
  readonly path: string;
  readonly text: string;
}

export interface MdevType {
  readonly type: string;
  readonly addresses: readonly string[];
  readonly resourceClass: string;
  readonly maxInstances: string | undefined;
}

/** The values as they are written. */
export interface NovaOptions {
  readonly deviceSpecs: readonly string[];
  readonly aliases: readonly string[];
  readonly mdevTypes: readonly MdevType[];
  /** The scheduler compares classes and traits of aliases, too. */
  readonly isInPlacement: boolean;
}

/** Section, in lower case → option → its values in their order. */
type Sections = Map<string, Map<string, string[]>>;

/** @throws NovaConfRefused */
export function readNovaConf(files: readonly ConfFile[]): NovaOptions {
  const read = files.map(parseSections);
  // oslo.config has the values of deprecated names first.
  const all = (...names: readonly Name[]) =>
    read.flatMap((sections) => names.toReversed().flatMap((name) => valuesOf(sections, name)));
  // The last file counts, and in it the name of today before a deprecated one.
  const last = (...names: readonly Name[]) =>
    read
      .toReversed()
      .flatMap((sections) => names.map((name) => valuesOf(sections, name).at(-1)))
      .find((value) => value !== undefined);
  const types = splitList(
    last(['devices', 'enabled_mdev_types'], ['devices', 'enabled_vgpu_types']),
  );
  return {
    deviceSpecs: all(
      ['pci', 'device_spec'],
      ['pci', 'passthrough_whitelist'],
      ['DEFAULT', 'pci_passthrough_whitelist'],
    ),
    aliases: all(['pci', 'alias'], ['DEFAULT', 'pci_alias']),
    mdevTypes: [...new Set(types)].map((type) => ({
      type,
      addresses: splitList(
        last([`mdev_${type}`, 'device_addresses'], [`vgpu_${type}`, 'device_addresses']),
      ),
      resourceClass: last([`mdev_${type}`, 'mdev_class']) ?? 'VGPU',
      maxInstances: last([`mdev_${type}`, 'max_instances']),
    })),
    isInPlacement: isTrue(last(['filter_scheduler', 'pci_in_placement'])),
  };
}

type Name = readonly [section: string, option: string];

function valuesOf(sections: Sections, [section, option]: Name): readonly string[] {
  return sections.get(section.toLowerCase())?.get(option) ?? [];
}

function splitList(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** Like oslo's `bool_from_string`. */
export function isTrue(text: string | undefined): boolean {
  return ['1', 't', 'true', 'on', 'y', 'yes'].includes((text ?? '').trim().toLowerCase());
}

function parseSections({ path, text }: ConfFile): Sections {
  const sections: Sections = new Map();
  let options: Map<string, string[]> | undefined;
  let values: string[] | undefined;
  // An editor of Windows may write a mark; Nova does not start with such a file.
  if (/^(\ufeff|\ufffd\ufffd)/.test(text)) {
    throw new NovaConfRefused(
      `${path} begins with a byte order mark, which oslo.config does not read: save it as UTF-8 without the mark.`,
    );
  }
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const place = `${path}, line ${index + 1}`;
    if (line.trim() === '') {
      values = undefined;
      continue;
    }
    if (/^[ \t]/.test(line)) {
      const before = values?.pop();
      if (before === undefined) {
        throw new NovaConfRefused(`${place}: an indented line must continue a value.`);
      }
      values?.push(`${before}\n${line.trim()}`);
      continue;
    }
    values = undefined;
    if (/^[#;]/.test(line)) continue;
    const [, section] = /^\[([^\]]+)\]\s*$/.exec(line) ?? [];
    if (section !== undefined) {
      const key = section.trim().toLowerCase();
      options = sections.get(key) ?? new Map<string, string[]>();
      sections.set(key, options);
      continue;
    }
    const [, name, value = ''] = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || options === undefined) {
      throw new NovaConfRefused(`${place} must be [section], or option = value in a section.`);
    }
    values = options.get(name) ?? [];
    options.set(name, values);
    values.push(value.trim());
  }
  for (const each of sections.values()) {
    for (const [name, written] of each) each.set(name, written.map(unquoted));
  }
  return sections;
}

function unquoted(value: string): string {
  return /^(["']).*\1$/s.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
