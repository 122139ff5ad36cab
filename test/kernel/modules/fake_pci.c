// SPDX-License-Identifier: GPL-2.0
/*
 * fake_pci: a PCI root bus in memory, below which functions have any identity.
 *
 *   modprobe fake_pci devs=10de:2331:030200,8086:0b30:120000:4:0b31:ng behind=0000:00:04.0
 *
 * A function is VENDOR:DEVICE:CLASS[:VFS[:VFDEVICE[:FLAGS]]], hexadecimal but
 * for VFS. The function in slot S is 0001:00:S.0. Its virtual function N is
 * 0001:(S+1):(N/8).(N%8): on another bus than its physical function.
 *
 * FLAGS: n  no function level reset, thus no reset at all
 *        u  no serial number
 *        g  in the IOMMU group of the function before it
 *
 * behind names a device of the machine whose place behind the IOMMU all
 * functions use. Without it they have no IOMMU group.
 *
 * window is the address of 8 MiB of RAM for the BARs, which the kernel must
 * not use itself: boot with mem=. (A range reserved by memmap= is not given to
 * BARs.) Without it, reads of BARs answer all ones.
 *
 * dead and slow are bit masks of slots, and may change at any time: a dead
 * function answers all ones, as one that fell off the bus; a slow one does so
 * for slow_ms after each reset, and the kernel waits for it.
 */
#include <linux/ioport.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>

#define SLOTS		16
#define VFS_MAX		64
#define CONFIG_SIZE	4096
#define EXPRESS		0x40	/* PCI Express capability */
#define SERIAL		0x100	/* serial number, or a capability without meaning */
#define SRIOV		0x140
#define BAR_SIZE	0x10000u
#define VF_BAR_SIZE	0x1000u
#define WINDOW_SIZE	SZ_8M
#define DOMAIN		1

static char *devs[SLOTS];
static int devs_count;
module_param_array(devs, charp, &devs_count, 0444);
static char *behind;
module_param(behind, charp, 0444);
static unsigned long window;
module_param(window, ulong, 0444);
static unsigned int dead;
module_param(dead, uint, 0644);
static unsigned int slow;
module_param(slow, uint, 0644);
static unsigned int slow_ms = 1000;
module_param(slow_ms, uint, 0644);
static unsigned int resets;
module_param(resets, uint, 0444);
MODULE_PARM_DESC(resets, "function level resets so far");

struct function {
	u8 config[CONFIG_SIZE];
	u8 writable[CONFIG_SIZE];	/* the bits that software can change */
	unsigned int slot;
	unsigned long ready;		/* in jiffies: when the last reset ends */
	bool joins;			/* the IOMMU group of the slot before */
};

static struct function *physical[SLOTS], *virtual[SLOTS][VFS_MAX];
static struct pci_sysdata sysdata;
static struct pci_bus *root;
static struct iommu_domain *resting;
static struct resource memory = { .name = "fake_pci", .flags = IORESOURCE_MEM };
/* Without it, SR-IOV refuses the buses of virtual functions. */
static struct resource buses = { .name = "fake_pci", .end = 255, .flags = IORESOURCE_BUS };

static u16 get16(const u8 *from, int at)
{
	return from[at] | from[at + 1] << 8;
}

static void put16(u8 *to, int at, u16 value)
{
	to[at] = value;
	to[at + 1] = value >> 8;
}

static void put32(u8 *to, int at, u32 value)
{
	put16(to, at, value);
	put16(to, at + 2, value >> 16);
}

static void put_bar(struct function *f, int at, u32 size)
{
	put32(f->config, at, PCI_BASE_ADDRESS_MEM_TYPE_64);
	put32(f->writable, at, ~(size - 1));
	put32(f->writable, at + 4, ~0);
}

static struct function *new_function(unsigned int slot, u16 vendor, u16 device, u32 class,
				     const char *flags)
{
	struct function *f = vzalloc(sizeof(*f));
	u32 abilities = PCI_EXP_DEVCAP_RBER;

	if (!f)
		return NULL;
	if (!strchr(flags, 'n'))
		abilities |= PCI_EXP_DEVCAP_FLR;
	f->slot = slot;
	f->ready = jiffies;
	put16(f->config, PCI_VENDOR_ID, vendor);
	put16(f->config, PCI_DEVICE_ID, device);
	put16(f->config, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put16(f->writable, PCI_COMMAND, PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
	      PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	put32(f->config, PCI_CLASS_REVISION, class << 8 | 1);
	put16(f->config, PCI_SUBSYSTEM_VENDOR_ID, vendor);
	put16(f->config, PCI_SUBSYSTEM_ID, 1);
	f->config[PCI_CAPABILITY_LIST] = EXPRESS;
	f->config[EXPRESS] = PCI_CAP_ID_EXP;
	put16(f->config, EXPRESS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_RC_END << 4);
	put32(f->config, EXPRESS + PCI_EXP_DEVCAP, abilities);
	put16(f->writable, EXPRESS + PCI_EXP_DEVCTL, 0x7fff);
	put16(f->writable, EXPRESS + PCI_EXP_DEVCTL2, 0xffff);
	return f;
}

/* An unused function number, a virtual function that is not enabled: NULL. */
static struct function *find(struct pci_bus *bus, unsigned int devfn)
{
	unsigned int slot = bus->number - 1;
	u16 control;

	if (!bus->number)
		return PCI_FUNC(devfn) || PCI_SLOT(devfn) >= SLOTS ? NULL : physical[PCI_SLOT(devfn)];
	if (slot >= SLOTS || !physical[slot] || devfn >= VFS_MAX)
		return NULL;
	control = get16(physical[slot]->config, SRIOV + PCI_SRIOV_CTRL);
	if (!(control & PCI_SRIOV_CTRL_VFE) ||
	    devfn >= get16(physical[slot]->config, SRIOV + PCI_SRIOV_NUM_VF))
		return NULL;
	return virtual[slot][devfn];
}

static bool is_silent(const struct function *f)
{
	return dead & BIT(f->slot) || time_before(jiffies, f->ready);
}

static int fake_read(struct pci_bus *bus, unsigned int devfn, int at, int size, u32 *value)
{
	struct function *f = find(bus, devfn);
	int i;

	*value = ~0;
	if (!f || at + size > CONFIG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	/* A virtual function's vendor and device read as all ones (SR-IOV, 9.3.4.1). */
	if (is_silent(f) || (bus->number && at < PCI_COMMAND))
		return PCIBIOS_SUCCESSFUL;
	for (*value = 0, i = 0; i < size; i++)
		*value |= (u32)f->config[at + i] << (8 * i);
	return PCIBIOS_SUCCESSFUL;
}

static int fake_write(struct pci_bus *bus, unsigned int devfn, int at, int size, u32 value)
{
	struct function *f = find(bus, devfn);
	int i;

	if (!f || at + size > CONFIG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (is_silent(f))
		return PCIBIOS_SUCCESSFUL;
	if (at == EXPRESS + PCI_EXP_DEVCTL && value & PCI_EXP_DEVCTL_BCR_FLR) {
		resets++;
		put16(f->config, PCI_COMMAND, 0);
		f->ready = jiffies + (slow & BIT(f->slot) ? msecs_to_jiffies(slow_ms) : 0);
	}
	for (i = 0; i < size; i++, value >>= 8) {
		u8 mask = f->writable[at + i];

		f->config[at + i] = (f->config[at + i] & ~mask) | (value & mask);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops ops = { .read = fake_read, .write = fake_write };

static int add_virtual(struct function *f, u16 vendor, u16 device, u32 class, unsigned int count,
		       const char *flags)
{
	unsigned int i;

	put32(f->config, SRIOV, PCI_EXT_CAP_ID_SRIOV | 1 << 16);
	put16(f->writable, SRIOV + PCI_SRIOV_CTRL,
	      PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE | PCI_SRIOV_CTRL_ARI);
	put16(f->config, SRIOV + PCI_SRIOV_INITIAL_VF, count);
	put16(f->config, SRIOV + PCI_SRIOV_TOTAL_VF, count);
	put16(f->writable, SRIOV + PCI_SRIOV_NUM_VF, 0xffff);
	put16(f->config, SRIOV + PCI_SRIOV_VF_OFFSET, ((f->slot + 1) << 8) - PCI_DEVFN(f->slot, 0));
	put16(f->config, SRIOV + PCI_SRIOV_VF_STRIDE, 1);
	put16(f->config, SRIOV + PCI_SRIOV_VF_DID, device);
	put32(f->config, SRIOV + PCI_SRIOV_SUP_PGSIZE, 0x553);
	put32(f->writable, SRIOV + PCI_SRIOV_SYS_PGSIZE, ~0);
	put_bar(f, SRIOV + PCI_SRIOV_BAR, VF_BAR_SIZE);
	for (i = 0; i < count; i++) {
		virtual[f->slot][i] = new_function(f->slot, vendor, device, class, flags);
		if (!virtual[f->slot][i])
			return -ENOMEM;
	}
	return 0;
}

static int add(unsigned int slot, const char *text)
{
	unsigned int vendor, device, class, count = 0, vf_device;
	char flags[8] = "";
	struct function *f;
	int n = sscanf(text, "%x:%x:%x:%u:%x:%7s", &vendor, &device, &class, &count, &vf_device,
		       flags);

	if (n < 3 || count > VFS_MAX)
		return -EINVAL;
	f = physical[slot] = new_function(slot, vendor, device, class, flags);
	if (!f)
		return -ENOMEM;
	f->joins = slot && strchr(flags, 'g');
	put_bar(f, PCI_BASE_ADDRESS_0, BAR_SIZE);
	put32(f->config, SERIAL, (strchr(flags, 'u') ? PCI_EXT_CAP_ID_VNDR : PCI_EXT_CAP_ID_DSN) |
	      1 << 16 | (count ? SRIOV << 20 : 0));
	/* The serial number of slot 2 is 02-00-00-00-<device>-<vendor>. */
	put16(f->config, SERIAL + 4, vendor);
	put16(f->config, SERIAL + 6, device);
	put32(f->config, SERIAL + 8, slot << 24);
	return count ? add_virtual(f, vendor, n < 5 ? device : vf_device, class, count, flags) : 0;
}

/*
 * All functions are behind one device, so the kernel puts them into its group.
 * Each gets a group of its own instead, or joins that of the slot before it.
 * Such a group has no default domain, so VFIO leaves its functions without a
 * domain, which the kernel's Intel driver does not expect when it removes them:
 * they get the resting domain first.
 */
static int regroup(struct notifier_block *block, unsigned long action, void *data)
{
	struct pci_dev *dev = to_pci_dev(data), *before;
	struct iommu_group *group;
	struct function *f;

	if (dev->bus->sysdata != &sysdata || !resting)
		return NOTIFY_DONE;
	group = iommu_group_get(&dev->dev);
	if (!group)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_DEL_DEVICE && !iommu_get_domain_for_dev(&dev->dev))
		iommu_attach_group(resting, group);
	iommu_group_put(group);
	if (action != BUS_NOTIFY_ADD_DEVICE)
		return NOTIFY_DONE;
	f = find(dev->bus, dev->devfn);
	group = NULL;
	if (f && f->joins) {
		before = pci_get_domain_bus_and_slot(DOMAIN, 0, PCI_DEVFN(f->slot - 1, 0));
		if (before)
			group = iommu_group_get(&before->dev);
		pci_dev_put(before);
	}
	if (!group)
		group = iommu_group_alloc();
	if (IS_ERR(group))
		return NOTIFY_DONE;
	iommu_group_remove_device(&dev->dev);
	if (iommu_group_add_device(group, &dev->dev))
		dev_warn(&dev->dev, "no IOMMU group\n");
	iommu_group_put(group);
	return NOTIFY_DONE;
}

static struct notifier_block regrouping = { .notifier_call = regroup };

static void free_all(void)
{
	int slot, i;

	for (slot = 0; slot < SLOTS; slot++) {
		vfree(physical[slot]);
		for (i = 0; i < VFS_MAX; i++)
			vfree(virtual[slot][i]);
	}
	if (resting)
		iommu_domain_free(resting);
	if (memory.parent)
		release_resource(&memory);
	pci_dev_put(sysdata.vmd_dev);
}

static int place_memory(void)
{
	if (!window)
		return allocate_resource(&iomem_resource, &memory, WINDOW_SIZE, SZ_256M * 1024ull,
					 ~0ull, WINDOW_SIZE, NULL, NULL);
	memory.start = window;
	memory.end = window + WINDOW_SIZE - 1;
	return insert_resource(&iomem_resource, &memory);
}

static int __init fake_pci_init(void)
{
	unsigned int domain, bus, slot, function;
	LIST_HEAD(resources);
	int i, err;

	sysdata.domain = DOMAIN;
	sysdata.node = NUMA_NO_NODE;
	if (behind) {
		/* The kernel's own hook for functions behind another device (Intel VMD). */
		if (sscanf(behind, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
			sysdata.vmd_dev = pci_get_domain_bus_and_slot(domain, bus,
								      PCI_DEVFN(slot, function));
		if (!sysdata.vmd_dev)
			return -ENODEV;
		resting = iommu_domain_alloc(&pci_bus_type);
	}
	err = place_memory();
	for (i = 0; !err && i < devs_count; i++)
		err = add(i, devs[i]);
	if (err)
		goto fail;
	pci_add_resource(&resources, &memory);
	pci_add_resource(&resources, &buses);
	bus_register_notifier(&pci_bus_type, &regrouping);
	pci_lock_rescan_remove();
	root = pci_create_root_bus(NULL, 0, &ops, &sysdata, &resources);
	if (root) {
		pci_scan_child_bus(root);
		pci_assign_unassigned_bus_resources(root);
		pci_bus_add_devices(root);
	}
	pci_unlock_rescan_remove();
	if (root)
		return 0;
	bus_unregister_notifier(&pci_bus_type, &regrouping);
	pci_free_resource_list(&resources);
	err = -ENOMEM;
fail:
	free_all();
	return err;
}

static void __exit fake_pci_exit(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(root);
	pci_remove_root_bus(root);
	pci_unlock_rescan_remove();
	bus_unregister_notifier(&pci_bus_type, &regrouping);
	free_all();
}

module_init(fake_pci_init);
module_exit(fake_pci_exit);
MODULE_DESCRIPTION("PCI root bus in memory, for tests");
MODULE_LICENSE("GPL");
