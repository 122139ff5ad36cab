// Names of models by pci.ids 2026.10.24 (https://pci-ids.ucw.cz; GPL-2.0-or-later or
// BSD-3-Clause). `npm run pci-names` has printed it.

/** Vendor id → the name of the vendor, and lines of a product id and its name. */
export const modelNames: Readonly<Record<string, string>> = {
  '1002': `AMD
67c2 Radeon Pro V7300X / V7350x2
67d0 Radeon Pro V7300X / V7350x2
67eb Radeon Pro V5300X
6860 Instinct MI25/MI25x2/V340/V320
6864 Radeon Pro V340/Instinct MI25x2
686c Instinct MI25 MxGPU/MI25x2 MxGPU/V340 MxGPU/V340L MxGPU
7362 Radeon Pro V520/V540
738c Instinct MI100
738e Instinct MI100
73a1 Radeon Pro V620
73ae Radeon Pro V620 MxGPU
7408 Instinct MI250X
740c Instinct MI250X/MI250
740f Instinct MI210
74a0 Instinct MI300A
74a1 Instinct MI300X
74a2 Instinct MI308X
74a5 Instinct MI325X
74a9 Instinct MI300X HF
74b5 Instinct MI300X VF
74b9 Instinct MI325X VF
74bd Instinct MI300X HF
75a0 Instinct MI350X
75a3 Instinct MI355X
75a8 Instinct MI350P`,
  '8086': `Intel
09c4 PAC with Intel Arria 10 GX FPGA
0b2b FPGA PAC D5005
0b69 Data Center GPU Max 1450
0b6e Data Center GPU Max 1100C
0bd4 Data Center GPU Max 1550VG
0bd5 Data Center GPU Max 1550
0bd6 Data Center GPU Max 1550
0bd7 Data Center GPU Max 1350
0bd8 Data Center GPU Max 1350
0bd9 Data Center GPU Max 1100
0bda Data Center GPU Max 1100
0bdb Data Center GPU Max 1100
0dd5 Ethernet Adaptive Virtual Function
104e Ethernet Controller X710 for 10 Gigabit SFP+
1249 Ethernet Controller E835-CC for QSFP
124a Ethernet Controller E835-CC for SFP
1256 Ethernet Controller E830(E835)-CC/X557-AT 10GBASE-T
1262 Ethernet Controller E835-C for QSFP
1263 Ethernet Controller E835-C for SFP
1266 Ethernet Controller E835-L for QSFP
1267 Ethernet Controller E835-L for SFP
12d2 Ethernet Controller E830-CC for QSFP
12d3 Ethernet Controller E830-CC for SFP
12d4 Ethernet Controller E830-CC for SFP-DD
12d8 Ethernet Controller E830-C for QSFP
12da Ethernet Controller E830-C for SFP
12dd Ethernet Controller E830-L for QSFP
12de Ethernet Controller E830-L for SFP
1520 I350 Ethernet Controller Virtual Function
1521 I350 Gigabit Network Connection
1522 I350 Gigabit Fiber Network Connection
1524 I350 Gigabit Connection
152f I350 Virtual Function
154c Ethernet Virtual Function 700 Series
1560 Ethernet Controller X540
1563 Ethernet Controller X550
1571 Ethernet Virtual Function 700 Series
1572 Ethernet Controller X710 for 10GbE SFP+
1583 Ethernet Controller XL710 for 40GbE QSFP+
1584 Ethernet Controller XL710 for 40GbE QSFP+
1585 Ethernet Controller X710 for 10GbE QSFP+
1586 Ethernet Controller X710 for 10GBASE-T
1589 Ethernet Controller X710/X557-AT 10GBASE-T
158b Ethernet Controller XXV710 for 25GbE SFP28
1592 Ethernet Controller E810-C for QSFP
1593 Ethernet Controller E810-C for SFP
1594 Ethernet Controller E810-C/X557-AT 10GBASE-T
1595 Ethernet Controller E810-C 1GbE
159a Ethernet Controller E810-XXV for QSFP
159b Ethernet Controller E810-XXV for SFP
159c Ethernet Controller E810-XXV/X557-AT 10GBASE-T
159d Ethernet Controller E810-XXV 1GbE
15ff Ethernet Controller X710 for 10GBASE-T
1889 Ethernet Adaptive Virtual Function
37cd Ethernet Virtual Function 700 Series
4907 Server GPU SG-18M
56b0 Arc Pro A30M
56b1 Arc Pro A40/A50
56b2 Arc Pro A60M
56b3 Arc Pro A60
56c0 Data Center GPU Flex 170
56c1 Data Center GPU Flex 140
56c2 Data Center GPU Flex 170V
57ac Ethernet Controller E610
57ad Ethernet Controller E610 Virtual Function
57af Ethernet Controller E610 SFP
57b0 Ethernet Controller E610-XT/E610-XT2 10GBASE-T
57b1 Ethernet Controller E610-AT2 1000BASE-T
57b2 Ethernet Controller E610 SGMII
643e Core Ultra 200V Series Processors NPU
7d1d Core Ultra 200H/200V Series Processors NPU
7d51 Arc Pro 130T/140T
ad1d Core Ultra 200 Series Processors NPU
b03e Core Ultra Processors (Series 3) NPU
b084 Arc Pro B390
b085 Arc Pro B370
b086 Arc Pro B390
b087 Arc Pro B370
d71d Core Ultra Processors (Series 4) NPU
e211 Arc Pro B60
e212 Arc Pro B50
e222 Arc Pro B65
e223 Arc Pro B70`,
  '10de': `NVIDIA
06de Tesla T20 Processor
13bd Tesla M10
13f2 Tesla M60
13f3 Tesla M6
1431 Tesla M4
15f7 Tesla P100 PCIe 12GB
15f8 Tesla P100 PCIe 16GB
15f9 Tesla P100 SXM2 16GB
15fc Tesla P100-DGXS-16GB
17fd Tesla M40
1b38 Tesla P40
1b39 Tesla P10
1bb3 Tesla P4
1bb4 Tesla P6
1db1 Tesla V100 SXM2 16GB
1db2 Tesla V100 DGXS 16GB
1db3 Tesla V100 FHHL 16GB
1db4 Tesla V100 PCIe 16GB
1db5 Tesla V100 SXM2 32GB
1db6 Tesla V100 PCIe 32GB
1db7 Tesla V100 DGXS 32GB
1db8 Tesla V100 SXM3 32GB
1df5 Tesla V100 SXM2 16GB
1df6 Tesla V100S PCIe 32GB
1e30 Quadro RTX 6000/8000
1e35 Tesla T10
1e36 Quadro RTX 6000
1e37 Tesla T10 16GB / GRID RTX T10-2/T10-4/T10-8
1e38 Tesla T40 24GB
1e78 Quadro RTX 6000/8000
1eb0 Quadro RTX 5000
1eb1 Quadro RTX 4000
1eb8 Tesla T4
20b0 A100 SXM4 40GB
20b1 A100 PCIe 40GB
20b2 A100 SXM4 80GB
20b3 A100-SXM-64GB
20b5 A100 PCIe 80GB
20b7 A30 PCIe
20b8 A100X
20b9 A30X
20bd A800 SXM4 40GB
20f1 A100 PCIe 40GB
20f3 A800-SXM4-80GB
20f5 A800 80GB PCIe
20f6 A800 40GB PCIe
2230 RTX A6000
2231 RTX A5000
2232 RTX A4500
2233 RTX A5500
2235 A40
2236 A10
2237 A10G
2238 A10M
230c H20 NVL16
230e H20 NVL16
2313 H100 CNX
2321 H100L 94GB
2322 H800 PCIe
2324 H800
2328 H20B
2329 H20
232c H20 HBM3e
2330 H100 SXM5 80GB
2331 H100 PCIe
2335 H200 SXM 141GB
2336 H100
2337 H100 SXM5 64GB
2338 H100 SXM5 96GB
2339 H100 SXM5 94GB
233a H800L 94GB
233b H200 NVL
233d H100 96GB
2342 GH200 120GB / 480GB
2348 GH200 144G HBM3e
237e H100 GH3
24b0 RTX A4000
24b1 RTX A4000H
2531 RTX A2000
2571 RTX A2000 12GB
25b0 RTX A1000
25b2 RTX A400
25b6 A2 / A16
26b1 RTX 6000 Ada Generation
26b2 RTX 5000 Ada Generation
26b3 RTX 5880 Ada Generation
26b5 L40
26b7 L20
26b8 L40G
26b9 L40S
26ba L20
26bb L30
26f5 L40 CNX
27b0 RTX 4000 SFF Ada Generation
27b1 RTX 4500 Ada Generation
27b2 RTX 4000 Ada Generation
27b6 L2
27b7 L16
27b8 L4
2901 B200
2909 HGX B200 168GB
290a B200
2941 HGX GB200
29bc B100
2bb1 RTX PRO 6000 Blackwell Workstation Edition
2bb2 RTX PRO 6000D Blackwell Workstation Edition
2bb3 RTX PRO 5000 Blackwell / RTX PRO 5000 72GB Blackwell
2bb5 RTX PRO 6000 Blackwell Server Edition
2c31 RTX PRO 4500 Blackwell
2c33 RTX PRO 4000 Blackwell SFF Edition
2c34 RTX PRO 4000 Blackwell
2c3a RTX PRO 4500 Blackwell Server Edition
2d30 RTX PRO 2000 Blackwell
2e12 GB10
3182 B300 SXM6 AC
31a1 GB300 MaxQ
31c2 GB300
31c3 GB300-252`,
  '10ee': `Xilinx
5000 Alveo U200 XDMA Platform
5004 Alveo U250 XDMA Platform
5005 Alveo U250
500c Alveo U280 XDMA Platform
5020 Alveo U50 XMDA Platform
505c Alveo U55C
5074 Alveo X3522, Quad Port, 10/25GbE Adaptable Accelerator Card
5084 Alveo X3522, Quad Port, 10/25GbE Low Latency Network Adapter
6987 SmartSSD
6988 SmartSSD
9134 SmartSSD
9234 SmartSSD
9434 SmartSSD
d000 Alveo U200 Golden Image
d004 Alveo U250 Golden Image
d00c Alveo U280 Golden Image
d020 Alveo U50 Golden Image`,
  '14e4': `Broadcom
1609 BCM5745X NetXtreme-E Ethernet Virtual Function
1614 BCM57454 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb Ethernet
16d0 BCM57402 NetXtreme-E 10Gb Ethernet Controller
16d1 BCM57404 NetXtreme-E 10Gb/25Gb Ethernet Controller
16d2 BCM57406 NetXtreme-E 10GBASE-T Ethernet Controller
16d3 NetXtreme-E Ethernet Virtual Function
16d5 BCM57407 NetXtreme-E 10GBase-T Ethernet Controller
16d6 BCM57412 NetXtreme-E 10Gb RDMA Ethernet Controller
16d7 BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller
16d8 BCM57416 NetXtreme-E Dual-Media 10G RDMA Ethernet Controller
16d9 BCM57417 NetXtreme-E 10GBASE-T RDMA Ethernet Controller
16dc NetXtreme-E Ethernet Virtual Function
16e2 BCM57417 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller
16e3 BCM57416 NetXtreme-E 10Gb RDMA Ethernet Controller
16e9 BCM57407 NetXtreme-E 25Gb Ethernet Controller
16f1 BCM57452 NetXtreme-E 10Gb/25Gb/40Gb/50Gb Ethernet
1750 BCM57508 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb/200Gb Ethernet
1751 BCM57504 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb Ethernet
1752 BCM57502 NetXtreme-E 10Gb/25Gb/40Gb/50Gb Ethernet
1806 BCM5750X NetXtreme-E Ethernet Virtual Function
1808 BCM5750X NetXtreme-E Ethernet Virtual Function`,
  '15b3': `NVIDIA
1013 ConnectX-4
1014 ConnectX-4 Virtual Function
1015 ConnectX-4 Lx
1016 ConnectX-4 Lx Virtual Function
1017 ConnectX-5
1018 ConnectX-5 Virtual Function
1019 ConnectX-5 Ex
101a ConnectX-5 Ex Virtual Function
101b ConnectX-6
101c ConnectX-6 Virtual Function
101d ConnectX-6 Dx
101e ConnectX Family mlx5Gen Virtual Function
101f ConnectX-6 Lx
1021 ConnectX-7
1023 ConnectX-8
1025 ConnectX-9
a2d2 MT416842 BlueField integrated ConnectX-5 network controller
a2d6 MT42822 BlueField-2 integrated ConnectX-6 Dx network controller
a2d9 MT43162 BlueField-3 Lx integrated ConnectX-7 network controller
a2dc MT43244 BlueField-3 integrated ConnectX-7 network controller
a2df BlueField-4 integrated network controller
caf1 ConnectX-4 CAPI Function`,
};
