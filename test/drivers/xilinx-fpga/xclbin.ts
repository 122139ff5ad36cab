// Builds xclbin files, whole or with a fault, and the device tree that describes a partition.

export interface XclbinGiven {
  readonly uuid?: string;
  /** In the header; zeros for none. */
  readonly interfaceUuid?: string;
  /** In the partition metadata; none without it. */
  readonly metadata?: readonly string[];
  readonly platform?: string;
  readonly mode?: number;
  readonly signature?: number;
  readonly bitstream?: number;
  readonly kind?: number;
}

export const shellInterface = '862c7020a250293e32036f19956669e5';
export const shellPlatform = 'xilinx_u250_gen3x16_xdma_shell_4_1';
export const imageUuid = '7f3e2d1c-0000-4000-8000-00000000000a';

export function anXclbin(given: XclbinGiven = {}): Buffer {
  const { uuid = imageUuid, interfaceUuid = shellInterface, platform = shellPlatform } = given;
  const { mode = 1, signature = -1, bitstream = 4096, kind = 0, metadata } = given;
  const sections = [
    { kind, data: Buffer.alloc(bitstream, 0x55) },
    { kind: 2, data: Buffer.from('<project/>\0\0\0\0\0\0') },
    ...(metadata ? [{ kind: 20, data: aDeviceTree(metadata) }] : []),
  ];
  const head = Buffer.alloc(456 + sections.length * 40, 0);
  head.write('xclbin2\0', 0, 'latin1');
  head.writeInt32LE(signature, 8);
  head.fill(0xff, 12, 40);
  head.writeUInt16LE(mode, 332);
  head.write(interfaceUuid, 336, 'hex');
  head.write(platform, 352, 'latin1');
  head.write(uuid.replaceAll('-', ''), 416, 'hex');
  head.writeUInt32LE(sections.length, 448);
  let offset = head.length;
  for (const [index, { kind: number, data }] of sections.entries()) {
    const at = 456 + index * 40;
    head.writeUInt32LE(number, at);
    head.writeBigUInt64LE(BigInt(offset), at + 24);
    head.writeBigUInt64LE(BigInt(data.length), at + 32);
    offset += data.length;
  }
  const trailer = Buffer.alloc(Math.max(0, signature), 0x30);
  head.writeBigUInt64LE(BigInt(offset + trailer.length), 304);
  return Buffer.concat([head, ...sections.map(({ data }) => data), trailer]);
}

/** A node for each interface, with its uuid. */
export function aDeviceTree(interfaces: readonly string[]): Buffer {
  const name = Buffer.from('interface_uuid\0');
  const word = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const padded = (bytes: Buffer) => Buffer.concat([bytes], (bytes.length + 3) & ~3);
  const nodes = interfaces.flatMap((uuid) => [
    ...[word(1), padded(Buffer.from('@0\0')), word(4)],
    ...[word(3), word(uuid.length + 1), word(0), padded(Buffer.from(`${uuid}\0`)), word(2)],
  ]);
  const struct = Buffer.concat([word(1), word(0), ...nodes, word(2), word(9)]);
  const head = [0xd00dfeed, 40 + struct.length + name.length, 40, 40 + struct.length];
  const rest = [40, 17, 16, 0, name.length, struct.length];
  return Buffer.concat([...[...head, ...rest].map(word), struct, name]);
}
