// Requests for devices, deployables and attributes.

import { fresh, type Meeting, none, type Pair, type Request } from './pair.ts';
import {
  attribute,
  attributeList,
  deployable,
  deployableList,
  device,
  deviceList,
  refusal,
} from './shapes.ts';

const devices = '/v2/devices';
const deployables = '/v2/deployables';
const attributes = '/v2/attributes';
const filtered = '?filters.field=limit&filters.value=1';
/** @param region the number of the deployable: while one is programmed, it takes no other image */
const program = (path: string, region: number, image: (at: Meeting) => string) => ({
  request: (at: Meeting): Request => [
    'PATCH',
    `${deployables}/${at.known.regions[region]}/program`,
    { body: [{ op: 'replace', path, value: [{ image_uuid: image(at) }] }] },
  ],
});

export const devicePairs: readonly Pair[] = [
  {
    name: 'one by uuid',
    request: (at) => ['GET', `${devices}/${at.known.device}`],
    status: 200,
    shape: device,
  },
  { name: 'all', request: () => ['GET', devices], status: 200, shape: deviceList },
  {
    name: 'of a type',
    request: () => ['GET', `${devices}?type=FPGA`],
    status: 200,
    shape: deviceList,
  },
  {
    name: 'of a vendor',
    request: () => ['GET', `${devices}?vendor=0xABCD`],
    status: 200,
    shape: deviceList,
  },
  {
    name: 'of a host',
    request: () => ['GET', `${devices}?hostname=cmp1`],
    status: 200,
    shape: deviceList,
  },
  {
    name: 'with filters',
    request: () => ['GET', `${devices}${filtered}`],
    status: 200,
    here: [400, 'its tests send `filters.field=` with `filters.value=`'],
  },
  {
    name: 'disable, whose reference says 200',
    request: (at) => ['POST', `${devices}/${at.known.device}/disable`],
    status: 204,
  },
  {
    name: 'enable, whose reference says 200',
    request: (at) => ['POST', `${devices}/${at.known.device}/enable`],
    status: 204,
  },
];

export const deployablePairs: readonly Pair[] = [
  {
    name: 'one by uuid',
    request: (at) => ['GET', `${deployables}/${at.known.deployable}`],
    status: 200,
    shape: deployable,
  },
  { name: 'all', request: () => ['GET', deployables], status: 200, shape: deployableList },
  {
    name: 'with filters',
    request: () => ['GET', `${deployables}${filtered}`],
    status: 200,
    here: [400, 'its tests send `filters.field=` with `filters.value=`'],
  },
  {
    name: 'with filters that match none',
    request: () => ['GET', `${deployables}?filters.field=name&filters.value=wrongname`],
    status: 200,
    here: [400, 'its tests send `filters.field=` with `filters.value=`'],
  },
  {
    name: 'program',
    ...program('/bitstream_id', 0, (at) => at.known.image),
    status: 200,
    shape: deployable,
  },
  {
    name: 'program, as in the reference',
    ...program('/program', 1, (at) => at.known.image),
    status: 200,
    shape: deployable,
  },
  {
    name: 'program with an image whose uuid is not valid',
    ...program('/bitstream_id', 0, () => 'abcd1234'),
    status: 400,
    shape: refusal,
  },
  {
    name: 'program with an unknown image',
    ...program('/bitstream_id', 0, () => none),
    status: 500,
    here: [404, 'an image that Glance does not have, in `program`'],
    shape: refusal,
  },
];

export const attributePairs: readonly Pair[] = [
  {
    name: 'one by uuid',
    request: (at) => ['GET', `${attributes}/${at.known.attribute}`],
    status: 200,
    shape: attribute,
  },
  { name: 'all', request: () => ['GET', attributes], status: 200, shape: attributeList },
  {
    name: 'of a deployable',
    request: (at) => ['GET', `${attributes}?deployable_id=${at.known.deployableId}`],
    status: 200,
    shape: attributeList,
  },
  {
    name: 'with a key',
    request: () => ['GET', `${attributes}?key=rc`],
    status: 200,
    shape: attributeList,
  },
  {
    name: 'of a deployable, with a key',
    request: (at) => ['GET', `${attributes}?deployable_id=${at.known.deployableId}&key=rc`],
    status: 200,
    shape: attributeList,
  },
  {
    name: 'create, as in the reference',
    request: (at) => {
      const body = {
        deployable_id: String(at.known.deployableId),
        key: fresh('key'),
        value: 'FPGA',
      };
      return ['POST', attributes, { body }];
    },
    status: 201,
    shape: attribute,
  },
  {
    name: 'delete',
    request: async (at) => {
      const body = { deployable_id: at.known.deployableId, key: fresh('key'), value: 'FPGA' };
      const { json } = await at.world.ask('POST', attributes, { body });
      return ['DELETE', `${attributes}/${json.uuid}`];
    },
    status: 204,
  },
];
