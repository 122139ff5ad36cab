// The version documents: unions of what the API specification shows and what keystoneauth reads.
// keystoneauth looks for a list `versions` first; a `version` that is not an object would break
// it.

import { maximum, minimum } from '#functions/http/request/microversion.ts';

const description =
  'Cyborg is an OpenStack project that aims to provide a general purpose management framework for ' +
  'acceleration resources (i.e. various types of accelerators such as GPU, FPGA, NP, ODP, DPDK/SPDK and so on).';

export function v2Document(base: string, id: string): Record<string, unknown> {
  return {
    id,
    status: 'CURRENT',
    version: minimum,
    min_version: minimum,
    max_version: maximum,
    links: [{ href: `${base}/accelerator/v2`, rel: 'self' }],
  };
}

export function rootDocument(base: string): Record<string, unknown> {
  const current = v2Document(base, 'v2.0');
  // The specification lists this version; its paths answer 404.
  const first = {
    id: 'v1',
    status: 'DEPRECATED',
    version: '1.0',
    links: [{ href: `${base}/accelerator/v1`, rel: 'self' }],
  };
  return {
    name: 'OpenStack Cyborg API',
    description,
    versions: [first, current],
    default_version: current,
  };
}
