// GBS images in the format of Intel's packager.

export const fakeInterface = '9926ab6d-6c92-5a68-aabc-a7d84c545738';
export const aFunction = 'd8424dc4-a4a3-c413-f89e-433683f9040b';

export interface GbsFields {
  readonly interfaceUuid?: string;
  readonly functionUuid?: string;
  readonly bitstream?: string;
  /** Functions of further clusters. */
  readonly others?: readonly string[];
  /** Further keys of the image's metadata. */
  readonly keys?: Readonly<Record<string, unknown>>;
}

export function aGbs(overrides: GbsFields = {}): Buffer {
  const { interfaceUuid = fakeInterface, functionUuid = aFunction, bitstream = 'bits' } = overrides;
  const clusters = [functionUuid, ...(overrides.others ?? [])];
  const metadata = Buffer.from(
    JSON.stringify({
      version: 1,
      'platform-name': 'DCP',
      'afu-image': {
        'magic-no': 488605312,
        'interface-uuid': interfaceUuid,
        'accelerator-clusters': clusters.map((each) => ({
          name: 'hello_afu',
          'total-contexts': 1,
          'accelerator-type-uuid': each,
        })),
        ...overrides.keys,
      },
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(metadata.length);
  return Buffer.concat([
    Buffer.from('XeonFPGA'),
    Buffer.from([0xb7]),
    Buffer.from('GBSv001'),
    length,
    metadata,
    Buffer.from(bitstream),
  ]);
}
