// Reads the interfaces out of a flattened device tree, in which an image for an Alveo card says
// what it connects to. Devicetree Specification 0.4, chapter 5; numbers are big endian.

const magic = 0xd00dfeed;
const headerBytes = 40;
const interfaceName = Buffer.from('interface_uuid\0', 'latin1');
const [beginNode, endNode, property, nop, end] = [1, 2, 3, 4, 9];

/** Values of the properties `interface_uuid`; undefined for what is not such a tree. */
export function parseInterfaces(tree: Buffer): readonly string[] | undefined {
  if (tree.length < headerBytes || tree.readUInt32BE(0) !== magic) return undefined;
  const structAt = tree.readUInt32BE(8);
  const stringsAt = tree.readUInt32BE(12);
  const strings = tree.subarray(stringsAt, stringsAt + tree.readUInt32BE(32));
  const interfaces: string[] = [];
  for (let at = structAt; at + 4 <= tree.length; ) {
    const token = tree.readUInt32BE(at);
    at += 4;
    if (token === end) return interfaces;
    if (token === nop || token === endNode) continue;
    if (token === beginNode) {
      const after = tree.indexOf(0, at);
      if (after < 0) return undefined;
      at = aligned(after + 1);
      continue;
    }
    if (token !== property || at + 8 > tree.length) return undefined;
    const [length, nameAt] = [tree.readUInt32BE(at), tree.readUInt32BE(at + 4)];
    at += 8;
    if (length > tree.length - at) return undefined;
    // Only as many bytes as the name has: the strings of an image may be long.
    if (strings.subarray(nameAt, nameAt + interfaceName.length).equals(interfaceName)) {
      const value = readText(tree.subarray(at, at + length)) ?? '';
      if (!/^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(value)) return undefined;
      interfaces.push(value);
    }
    at = aligned(at + length);
  }
  return undefined;
}

/** Up to the zero at its end. */
function readText(bytes: Buffer): string | undefined {
  const after = bytes.indexOf(0);
  return after < 0 ? undefined : bytes.toString('latin1', 0, after);
}

function aligned(at: number): number {
  return (at + 3) & ~3;
}
