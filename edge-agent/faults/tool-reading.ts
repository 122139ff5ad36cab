// What a vendor's tool says of one card, whatever the tool.

export interface ToolReading {
  /** Temperature of the processor, in degrees Celsius. */
  readonly celsius?: number;
  /** Errors of memory that were not corrected, since the vendor's driver was loaded. */
  readonly uncorrectable?: number;
  readonly fault?: ToolFault;
}

export interface ToolFault {
  /** A device with a fatal fault is not offered; a warning is shown. */
  readonly severity: 'fatal' | 'warning';
  /** A clause that completes "The device at <address> ...". */
  readonly meaning: string;
  readonly nextStep: string;
}
