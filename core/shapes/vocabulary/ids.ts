// Identifiers: branded, so that one kind cannot be passed for another.

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type ArqUuid = Branded<'ArqUuid'>;
export type BindId = Branded<'BindId'>;
export type DeployableUuid = Branded<'DeployableUuid'>;
export type DeviceProfileUuid = Branded<'DeviceProfileUuid'>;
export type DeviceUuid = Branded<'DeviceUuid'>;
export type HandleUuid = Branded<'HandleUuid'>;
export type InstanceUuid = Branded<'InstanceUuid'>;
export type ProviderUuid = Branded<'ProviderUuid'>;
export type ReleaseId = Branded<'ReleaseId'>;
