// SPDX-License-Identifier: GPL-2.0
/*
 * fake_cper: errors of PCIe that the firmware handles first, as the kernel's
 * driver ghes passes them on from the firmware's tables, which QEMU lacks.
 *
 *   modprobe fake_cper
 *   echo "0000:01:00.0 recoverable 00100000" \
 *     >/sys/module/fake_cper/parameters/report
 *
 * The severity is corrected, recoverable or fatal, and the number is the
 * register Uncorrectable Error Status; all bits of 00062010 are fatal. The
 * kernel's own code prints the record, and handles the error unless the
 * severity is fatal, with which ghes panics.
 */
#include <linux/acpi.h>
#include <linux/aer.h>
#include <linux/cper.h>
#include <linux/module.h>
#include <linux/pci.h>

/* Exported, but declared for the kernel's own drivers only (apei-internal.h). */
void cper_estatus_print(const char *prefix, const struct acpi_hest_generic_status *status);

static struct {
	struct acpi_hest_generic_status status;
	struct acpi_hest_generic_data section;
	struct cper_sec_pcie error;
} __packed record;
/* The kernel reads it later. */
static struct aer_capability_regs registers;
static unsigned int records;

static void fill(struct pci_dev *pdev, int severity)
{
	struct cper_sec_pcie *error = &record.error;
	guid_t type = CPER_SEC_PCIE;

	memset(&record, 0, sizeof(record));
	record.status.data_length = sizeof(record) - sizeof(record.status);
	record.status.error_severity = severity;
	memcpy(record.section.section_type, &type, sizeof(type));
	record.section.error_severity = severity;
	record.section.error_data_length = sizeof(record.error);
	error->validation_bits = CPER_PCIE_VALID_PORT_TYPE | CPER_PCIE_VALID_DEVICE_ID |
				 CPER_PCIE_VALID_AER_INFO;
	error->device_id.vendor_id = pdev->vendor;
	error->device_id.device_id = pdev->device;
	error->device_id.segment = pci_domain_nr(pdev->bus);
	error->device_id.bus = pdev->bus->number;
	error->device_id.device = PCI_SLOT(pdev->devfn);
	error->device_id.function = PCI_FUNC(pdev->devfn);
	memcpy(error->aer_info, &registers, sizeof(registers));
}

static int report_set(const char *text, const struct kernel_param *param)
{
	unsigned int domain, bus, slot, function, status;
	struct pci_dev *pdev;
	char name[16], prefix[40];
	int severity;

	if (sscanf(text, "%x:%x:%x.%x %15s %x", &domain, &bus, &slot, &function, name,
		   &status) != 6)
		return -EINVAL;
	for (severity = CPER_SEV_RECOVERABLE; severity <= CPER_SEV_CORRECTED; severity++)
		if (!strcmp(cper_severity_str(severity), name))
			break;
	if (severity > CPER_SEV_CORRECTED)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, function));
	if (!pdev)
		return -ENODEV;
	memset(&registers, 0, sizeof(registers));
	registers.uncor_status = status;
	registers.uncor_severity = 0x00062010;
	fill(pdev, severity);
	snprintf(prefix, sizeof(prefix), KERN_ERR "{%u}" HW_ERR, ++records);
	printk("%sHardware error from APEI Generic Hardware Error Source: 5\n", prefix);
	cper_estatus_print(prefix, &record.status);
	if (severity != CPER_SEV_FATAL)
		aer_recover_queue(domain, bus, pdev->devfn, cper_severity_to_aer(severity),
				  &registers);
	pci_dev_put(pdev);
	return 0;
}

static const struct kernel_param_ops report_operations = { .set = report_set };
module_param_cb(report, &report_operations, NULL, 0200);

static int __init fake_cper_init(void)
{
	return 0;
}

static void __exit fake_cper_exit(void)
{
}

module_init(fake_cper_init);
module_exit(fake_cper_exit);
MODULE_DESCRIPTION("PCIe errors of firmware-first hosts, for tests");
MODULE_LICENSE("GPL");
