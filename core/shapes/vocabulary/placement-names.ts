// Names of Placement that a profile may request and a host may offer. Standard classes and traits
// belong to other services: if a host offered MEMORY_MB or MISC_SHARES_VIA_AGGREGATE, Nova would
// schedule by it.

/** Standard trait that marks Cyborg's inventory beside Nova's. */
export const ownerTrait = 'OWNER_CYBORG';

/** Standard classes of Placement for accelerators; GPU is not one of them. */
export const standardClasses = ['FPGA', 'PGPU', 'VGPU'];

/** Longest name in Placement. */
export const placementNameLengthMax = 255;
/** Longest name of a resource provider in Placement. */
export const providerNameLengthMax = 200;

const customName = /^CUSTOM_[A-Z0-9_]+$/;

export function isOfferedClass(name: string): boolean {
  return standardClasses.includes(name) || isCustomName(name);
}

export function isOfferedTrait(name: string): boolean {
  return name === ownerTrait || isCustomName(name);
}

function isCustomName(name: string): boolean {
  return customName.test(name) && name.length <= placementNameLengthMax;
}
