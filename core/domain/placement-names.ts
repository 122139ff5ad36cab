// What of Placement's names a profile may ask for and a host may offer. Standard classes and traits of
// other services are theirs: a host that offered MEMORY_MB, or MISC_SHARES_VIA_AGGREGATE, would have
// Nova schedule by it.

/** Standard trait by which Nova and Cyborg tell their inventory apart. */
export const ownerTrait = 'OWNER_CYBORG';

/** Classes that Placement knows without our making them; GPU is not among them. */
export const standardClasses = ['FPGA', 'PGPU', 'VGPU'];

/** Placement takes no longer name. */
export const placementNameLengthMax = 255;
/** Placement takes no longer name of a resource provider. */
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
